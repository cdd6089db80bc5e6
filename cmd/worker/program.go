package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/logfile"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
)

// program is the running program as a value, which tests start too.
type program struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	environ   []string
	stdinTTY  bool             // stdin is a terminal
	outTerm   terminal.Output  // stdout, as a terminal
	errTerm   terminal.Output  // stderr, as a terminal
	live      *terminal.Screen // where a live line may stand; nil means nowhere
	oneOutput bool             // stdout and stderr lead to the same place

	settings settings.Settings
	log      *logfile.File           // of the state folder; nil means none
	abort    context.CancelCauseFunc // ends the program with a reason; set by run

	// asking is held while something is written to stderr for people: an open
	// question, or a line of progress.
	asking sync.Mutex
}

// complain says on stderr what has gone wrong, and what to do about it.
func (p *program) complain(err error) {
	fmt.Fprintf(p.stderr, "%s %s\n", p.errTerm.Paint(terminal.Red, "worker:"), termtext.Printable(errtext.Of(err)))
	p.advise(err)
}

// complainOnce is complain for an error that stdout has shown: where that is the
// same place, only what to do about it is left to say.
func (p *program) complainOnce(err error) {
	if p.oneOutput {
		p.advise(err)
		return
	}
	p.complain(err)
}

// advise says on stderr what to do about an error.
func (p *program) advise(err error) {
	for _, line := range advice(err, &p.settings, p.getenv) {
		fmt.Fprintf(p.stderr, "%s %s\n", p.errTerm.Paint(terminal.Dim, "worker:"), termtext.Printable(line))
	}
}

func (p *program) getenv(name string) string {
	value := ""
	for _, kv := range p.environ { // the last one counts, as in os/exec
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// models returns the models that the settings name.
func (p *program) models() models.Models { return models.New(&p.settings, p.environ, p.getenv) }

// workspace finds the workspace that is served.
func (p *program) workspace() (*workspace.Workspace, error) {
	ws, err := workspace.Find(&workspace.Options{
		Dir:      p.settings.Dir,
		Name:     p.settings.Workspace,
		StateDir: p.settings.StateDir,
		Getenv:   p.getenv,
	})
	if err != nil {
		return nil, exit.Usage(err)
	}
	return ws, nil
}

// stateOf returns the workspace, whose state folder is there.
func (p *program) stateOf() (*workspace.Workspace, error) {
	ws, err := p.workspace()
	if err == nil {
		err = ws.MakeStateDir()
	}
	return ws, err
}

// keepLog has what is logged from now on written to the state folder too, from
// info on whatever stderr gets. Call what it returns at the end. A log that
// can't be opened is said, and does not keep anything from working.
func (p *program) keepLog() (end func(), err error) {
	ws, err := p.stateOf()
	if err != nil {
		return nil, err
	}
	log, err := logfile.Open(filepath.Join(ws.StateDir, logfile.Name))
	if err != nil {
		p.complain(fmt.Errorf("there will be no log: %w", err))
		return func() {}, nil
	}
	p.log = log
	return func() {
		if err := log.Close(); err != nil {
			p.complain(fmt.Errorf("closing the log: %w", err))
		}
	}, nil
}

func (p *program) logger() *slog.Logger {
	handler := slog.Handler(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: p.settings.LogLevel}))
	if p.log != nil {
		file := slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: min(p.settings.LogLevel, slog.LevelInfo)})
		handler = slog.NewMultiHandler(handler, file.WithAttrs([]slog.Attr{slog.Int("pid", os.Getpid())}))
	}
	return slog.New(logfile.Limited(handler))
}

// readStdin reads stdin to its end, or until ctx ends. The read itself can't be
// interrupted: it is left to the end of the process.
func (p *program) readStdin(ctx context.Context) (string, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(p.stdin)
		read <- input{data, err}
	}()
	select {
	case in := <-read:
		return string(in.data), in.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// jsonOut returns stdout for JSON. On a terminal, what could move its cursor or
// change the direction of its text is escaped; elsewhere JSON is written as it is.
func (p *program) jsonOut() io.Writer {
	if p.outTerm.IsTerminal() {
		return termtext.JSON(p.stdout)
	}
	return p.stdout
}

// printJSON writes one JSON document, over several lines if indented.
func (p *program) printJSON(doc any, indented bool) error {
	enc := json.NewEncoder(p.jsonOut())
	enc.SetEscapeHTML(false)
	if indented {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(doc)
}

// printTable prints a table on stdout, and says on stderr what it leaves out.
func (p *program) printTable(t *terminal.Table, wide bool) error {
	left, err := t.Print(p.stdout, p.outTerm, wide)
	if err == nil && len(left) > 0 {
		fmt.Fprintf(p.stderr, "left out: %s; see them with --wide\n", strings.Join(left, ", "))
	}
	return err
}

// registerWide registers the flag of the commands that print a table.
func registerWide(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "show all columns, each row in one line, however wide the terminal is")
}

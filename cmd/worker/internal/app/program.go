// Package app is what the commands of worker share: the program as a value, the open state
// of a workspace, and a worker that can run tasks.
package app

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

	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
)

// Program is the running program as a value, which tests start too.
type Program struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	Environ   []string
	StdinTTY  bool             // stdin is a terminal
	OutTerm   terminal.Output  // stdout, as a terminal
	ErrTerm   terminal.Output  // stderr, as a terminal
	Live      *terminal.Screen // where a live line may stand; nil means nowhere
	OneOutput bool             // stdout and stderr lead to the same place

	Settings settings.Settings
	Instead  Instead // of its own models and tools
	// CheckFiles has the store opened with all of its files read.
	CheckFiles bool

	Abort context.CancelCauseFunc // ends the program with a reason; set by who runs it
	log   *logFile                // of the state folder; nil means none
	above above                   // what an administrator forbids

	// Asking is held while something is written to stderr for people: an open
	// question, or a line of progress.
	Asking sync.Mutex
}

// Complain says on stderr what has gone wrong, and what to do about it.
func (p *Program) Complain(err error) {
	fmt.Fprintf(p.Stderr, "%s %s\n", p.ErrTerm.Paint(terminal.Red, "worker:"), termtext.Printable(errtext.Of(err)))
	p.advise(err)
}

// ComplainOnce is complain for an error that stdout has shown: where that is the
// same place, only what to do about it is left to say.
func (p *Program) ComplainOnce(err error) {
	if p.OneOutput {
		p.advise(err)
		return
	}
	p.Complain(err)
}

// advise says on stderr what to do about an error.
func (p *Program) advise(err error) {
	for _, line := range Advice(err, &p.Settings, p.Getenv) {
		fmt.Fprintf(p.Stderr, "%s %s\n", p.ErrTerm.Paint(terminal.Dim, "worker:"), termtext.Printable(line))
	}
}

// Getenv returns a variable of the environment; empty means it is not set.
func (p *Program) Getenv(name string) string {
	value := ""
	for _, kv := range p.Environ { // the last one counts, as in os/exec
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// Models returns the models that the settings name.
func (p *Program) Models() models.Models {
	return models.New(&p.Settings, p.Environ, p.Getenv, p.allows)
}

// Workspace finds the workspace that is served.
func (p *Program) Workspace() (*workspace.Workspace, error) {
	ws, err := workspace.Find(&workspace.Options{
		Dir:      p.Settings.Dir,
		Name:     p.Settings.Workspace,
		StateDir: p.Settings.StateDir,
		Getenv:   p.Getenv,
	})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return ws, nil
}

// StateOf returns the workspace, whose state folder is there.
func (p *Program) StateOf() (*workspace.Workspace, error) {
	ws, err := p.Workspace()
	if err == nil {
		err = ws.MakeStateDir()
	}
	return ws, err
}

// KeepLog has what is logged from now on written to the state folder too, from
// info on whatever stderr gets. Call what it returns at the end. A log that
// can't be opened is said, and does not keep anything from working.
func (p *Program) KeepLog() (end func(), err error) {
	ws, err := p.StateOf()
	if err != nil {
		return nil, err
	}
	log, err := openLog(filepath.Join(ws.StateDir, logName))
	if err != nil {
		p.Complain(fmt.Errorf("there will be no log: %w", err))
		return func() {}, nil
	}
	p.log = log
	return func() {
		if err := log.Close(); err != nil {
			p.Complain(fmt.Errorf("closing the log: %w", err))
		}
	}, nil
}

// Logger logs to stderr, and once [Program.KeepLog] was called to the state folder.
func (p *Program) Logger() *slog.Logger {
	handler := slog.Handler(slog.NewTextHandler(secrets.Writer(p.Stderr), &slog.HandlerOptions{Level: p.Settings.LogLevel}))
	if p.log != nil {
		file := slog.NewTextHandler(secrets.Writer(p.log), &slog.HandlerOptions{Level: min(p.Settings.LogLevel, slog.LevelInfo)})
		handler = slog.NewMultiHandler(handler, file.WithAttrs([]slog.Attr{slog.Int("pid", os.Getpid())}))
	}
	return slog.New(limitLogs(handler))
}

// ReadStdin reads stdin to its end, or until ctx ends. The read itself can't be
// interrupted: it is left to the end of the process.
func (p *Program) ReadStdin(ctx context.Context) (string, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(p.Stdin)
		read <- input{data, err}
	}()
	select {
	case in := <-read:
		return string(in.data), in.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// JSONOut returns stdout for JSON. On a terminal, what could move its cursor or
// change the direction of its text is escaped; elsewhere JSON is written as it is.
func (p *Program) JSONOut() io.Writer {
	if p.OutTerm.IsTerminal() {
		return termtext.JSON(p.Stdout)
	}
	return ci.JSON(p.Stdout)
}

// PrintJSON writes one JSON document, over several lines if indented.
func (p *Program) PrintJSON(doc any, indented bool) error {
	enc := json.NewEncoder(p.JSONOut())
	enc.SetEscapeHTML(false)
	if indented {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(doc)
}

// PrintTable prints a table on stdout, and says on stderr what it leaves out.
func (p *Program) PrintTable(t *terminal.Table, wide bool) error {
	left, err := t.Print(p.Stdout, p.OutTerm, wide)
	if err == nil && len(left) > 0 {
		fmt.Fprintf(p.Stderr, "left out: %s; see them with --wide\n", strings.Join(left, ", "))
	}
	return err
}

// PrintNotes says what does not hold of an answer.
func (p *Program) PrintNotes(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(p.Stderr, "note: %s\n", termtext.Printable(note))
	}
}

// RegisterWide registers the flag of the commands that print a table.
func RegisterWide(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "show all columns, each row in one line, however wide the terminal is")
}

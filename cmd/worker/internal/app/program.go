// Package app is what the commands of worker share: the program as a value, the open state
// of a workspace, and a worker that can run tasks.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/offer"
)

// Program is the running program as a value, which tests start too.
type Program struct {
	Console
	Environ []string

	Settings   settings.Settings
	Overrides  Overrides
	Pipeline   bool                    // no call waits for an answer
	Patient    atomic.Bool             // a second signal does not end the program at once
	CheckFiles bool                    // the store is opened with all of its files read
	Abort      context.CancelCauseFunc // ends the program with a reason; whoever runs the program sets it

	log   *logFile // of the state folder; nil means none
	above above    // what an administrator forbids

	agentHooks   []*hookconfig.Hook  // of the agent files, as they were at the start
	agentServers []*mcpconfig.Server // the same
}

// Complain prints an error on stderr, and what to do about it.
func (p *Program) Complain(err error) {
	fmt.Fprintf(p.Stderr, "%s %s\n", p.ErrTerm.Paint(terminal.Red, "worker:"), termtext.Printable(errtext.Of(err)))
	p.advise(err)
}

// ComplainOnce is Complain for an error that stdout has shown: if stderr leads to the same
// place, it prints only what to do about it.
func (p *Program) ComplainOnce(err error) {
	if p.OneOutput {
		p.advise(err)
		return
	}
	p.Complain(err)
}

// advise prints on stderr what to do about an error.
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
	by := settings.Caller{Environ: p.Environ, Getenv: p.Getenv, UserAgent: "agentworker/" + Version(), Place: func(name string) string { return placeOf(p, name) }}
	return models.New(&p.Settings, by, p.allows)
}

// placeOf returns the user or the workspace, by these names, for the headers of providers.
func placeOf(p *Program, name string) string {
	if name == "user" {
		return thisUser()
	}
	ws, err := p.Workspace()
	if err != nil {
		return ""
	}
	return ws.ID
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
	ownpath.Leave(ws.Root, ws.StateDir, ws.StateHome)
	return ws, nil
}

// StateOf returns the workspace, after making its state folder.
func (p *Program) StateOf() (*workspace.Workspace, error) {
	ws, err := p.Workspace()
	if err == nil {
		err = ws.MakeStateDir()
	}
	return ws, err
}

// KeepLog writes what is logged from now on to the state folder, too: from info on, whatever
// level stderr gets. Call end at the end. A log that can't be opened is reported on stderr,
// and nothing else fails by it.
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

// Advice says, a line each, what to do about an error: for example which setting has the
// key or the time limit.
func Advice(err error, set *settings.Settings, getenv func(string) string) []string {
	var limit *lifetime.TimeLimitError
	if errors.As(err, &limit) {
		return []string{fmt.Sprintf("--timeout (now %s) bounds how long a subagent runs, and timeoutSeconds in its file that of one", errtext.Duration(set.Timeout))}
	}
	var ended *record.EndedError
	if errors.As(err, &ended) && ended.Record.ParentID != "" {
		return []string{fmt.Sprintf("'worker sessions resume %s MESSAGE' continues its conversation", ended.Record.ID)}
	}
	var unknown *offer.UnknownAgentError
	if errors.As(err, &unknown) {
		var names []string
		for _, accepted := range unknown.Accepted { // a name, and its aliases in brackets
			names = append(names, strings.FieldsFunc(accepted, func(r rune) bool { return strings.ContainsRune(" (),", r) })...)
		}
		if near := suggest.Nearest(unknown.Name, names); near != "" {
			return []string{fmt.Sprintf("did you mean %q?", near)}
		}
		return nil
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		return nil
	}
	at, _, _ := strings.Cut(failed.Model, "/")
	to := set.Provider(at)
	if to == nil {
		return nil
	}
	switch failed.Kind {
	case model.ErrAuth:
		return []string{"the key used is " + to.KeySource(getenv) + "; " + to.KeySettings() + " set another one"}
	case model.ErrTimeout:
		return []string{fmt.Sprintf("--model-timeout (now %s) bounds the silence of a model, --model-total (now %s) one call", errtext.Duration(set.ModelTimeout), errtext.Duration(set.ModelTotal))}
	case model.ErrRateLimited:
		return []string{"the limit is that of the account of the key, which is " + to.KeySource(getenv) + "; try again later, or with another --model"}
	case model.ErrUnavailable, model.ErrProtocol:
		if base := to.OwnBase(getenv); base != "" && failed.Status == 0 {
			return []string{fmt.Sprintf("the address is %s", to.BaseSource())}
		}
	}
	return nil
}

// Advised returns an error as text, with the advice about it.
func (p *Program) Advised(err error) string {
	return strings.Join(append([]string{errtext.Of(err)}, Advice(err, &p.Settings, p.Getenv)...), "\n")
}

package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/lsp"
)

// The states of a finding.
const (
	fineState  = "ok"
	noteState  = "note"
	wrongState = "wrong"
)

// entryName is what 'worker mcp install' calls its entry.
const entryName = "worker"

// finding is what one look has found.
type finding struct {
	About  string `json:"about"`
	State  string `json:"state"` // "ok", "note" or "wrong"
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// look looks at what a worker needs besides its store. Whether a model may be called is not
// known without the policy.
func (p doctor) look(ctx context.Context, policy bool) []finding {
	var all []finding
	if policy {
		all = append(all, p.model(ctx))
	}
	all = append(all, p.disk(), p.sandbox(), watches(), p.port())
	if policy {
		all = append(all, p.languageServers()...)
	}
	return append(all, p.hosts()...)
}

// files says whether all files of the embedded store were read when it was opened.
func files(bus *eventbus.Bus) finding {
	if bus.Health().Leads {
		return finding{About: "files", State: fineState, Text: "all files of the store were read"}
	}
	return finding{
		"files", noteState, "the files of the store were not read, since another worker has it open",
		"end the workers of this workspace, and run 'worker doctor --full' again, to find what a disk has changed by itself",
	}
}

// model finds out whether the default model answers, and takes its key.
func (p doctor) model(ctx context.Context) finding {
	f := finding{About: "model"}
	name, sent, err := p.Models().Reach(ctx)
	switch {
	case err != nil:
		f.State, f.Text = wrongState, err.Error()
		f.Advice = "put the key into the config file, or name another model: --model, WORKER_MODEL (docs/reference/settings.md)"
	case sent == "" && name == "offline":
		f.State, f.Text = noteState, "offline, which reads files and writes none, since no provider's key is set"
		f.Advice = "set ANTHROPIC_API_KEY, or OPENAI_API_KEY, or put a key into the config file"
		if hint := models.Hint(p.Models().Local(ctx, time.Second)); hint != "" {
			f.Advice += "; " + hint
		}
	case sent == "":
		f.State, f.Text = fineState, name
	default:
		f.State, f.Text = fineState, fmt.Sprintf("%s answers (%s)", name, sent)
	}
	return f
}

// room is what the disk of the state folder must take, in bytes: about what a hundred sessions
// write.
const room = 4 << 20

// disk finds out whether the disk of the state folder has room for sessions.
func (p doctor) disk() finding {
	f := finding{About: "disk", State: fineState, Text: "the state folder has room"}
	ws, err := p.Workspace()
	if err == nil {
		err = takes(ws.StateDir, room)
	}
	if err != nil {
		f.State, f.Text = wrongState, "the state folder takes no more: "+err.Error()
		f.Advice = "make room on its disk, or move it with --state-dir: no session can be stored"
	}
	return f
}

// takes returns nil if a folder takes a file of so many bytes.
func takes(dir string, size int) error {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, size))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

// sandbox finds out what holds commands here, as the kernel gives it.
func (p doctor) sandbox() finding {
	f := finding{About: "sandbox", State: fineState}
	support := sandbox.Detect()
	backend, why := support.Backend()
	switch mode := p.Settings.Sandbox.Mode; {
	case mode == sandbox.Off:
		f.State, f.Text = noteState, "off, by --sandbox or the setting: commands are held by rules alone"
	case backend != "":
		f.Text = fmt.Sprintf("%s (--sandbox %s)", backend, mode)
		if open := support.Open(); len(open) > 0 {
			f.State, f.Advice = noteState, "not held: "+strings.Join(open, "; ")
		}
	case mode == sandbox.Required:
		f.State, f.Text = wrongState, "it is required, and there is none: "+why
		f.Advice = "no command runs until there is one: allow unprivileged user namespaces"
	default:
		f.State, f.Text = noteState, "none: "+why
		f.Advice = "rules ask for more commands; allow unprivileged user namespaces"
	}
	return f
}

// languageServers finds out which language servers there are, and whether sessions can run them.
func (p doctor) languageServers() (all []finding) {
	const about = "language servers"
	ws, err := p.Workspace()
	if err != nil {
		return nil // the store of this workspace was opened
	}
	servers, err := app.LanguageServers(p.Program, ws)
	if err != nil {
		all = append(all, finding{about, noteState, err.Error(), "put the file right: docs/guide/code.md has its form"})
	}
	var fine []string
	for _, s := range servers {
		shown := fmt.Sprintf("%s for %s (%s)", s.Name, strings.Join(slices.Sorted(maps.Keys(s.Languages)), " "), s.Source())
		switch {
		case s.Wrong != nil:
			all = append(all, finding{about, noteState, shown + " does not start: " + s.Wrong.Error(), "edits go on without what it finds; docs/guide/code.md has the rest"})
		case s.State == lsp.Ready:
			fine = append(fine, shown)
		case s.State != lsp.Off:
			all = append(all, finding{about, noteState, shown + " is " + string(s.State), s.Why})
		}
	}
	switch {
	case len(fine) > 0:
		all = append(all, finding{About: about, State: fineState, Text: strings.Join(fine, "; ")})
	case len(servers) == 0 && err == nil:
		all = append(all, finding{about, noteState, "none", "results of edits lack what a compiler would say: install one of docs/guide/code.md"})
	}
	return all
}

// watches finds out whether files can be watched.
func watches() finding {
	f := finding{About: "watches", State: fineState, Text: "agent files are read anew when they change"}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.State, f.Text = wrongState, "no watch of files can be made: "+err.Error()
		f.Advice = "changes are seen after up to 30 s only"
		if runtime.GOOS == "linux" {
			f.Advice += "; as root: sysctl fs.inotify.max_user_instances=1024"
		}
	}
	return f
}

// port finds out whether the port of 'worker serve' is free.
func (p doctor) port() finding {
	f := finding{About: "port", State: fineState, Text: p.listen + " is free for 'worker serve'"}
	l, err := net.Listen("tcp", p.listen)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		f.State, f.Text = noteState, p.listen+" is in use, maybe by a 'worker serve' that runs"
		f.Advice = "another one takes --listen 127.0.0.1:0, which is any free port"
	}
	return f
}

// hosts finds out which of the hosts here have an entry for worker.
func (p doctor) hosts() []finding {
	at, err := p.folders()
	if err != nil {
		return nil // the store of this workspace was opened
	}
	var with, without []string
	var all []finding
	for _, h := range allHosts {
		has, err := h.Has(at, false, entryName)
		if err == nil && !has { // a host without files of projects has an error
			has, _ = h.Has(at, true, entryName)
		}
		switch {
		case err != nil && h.Installed(at):
			all = append(all, finding{"host " + h.Name, noteState, err.Error(), "put the file right; 'worker mcp install " + h.Name + "' writes into no file that can't be read"})
		case has:
			with = append(with, h.Name)
		case h.Installed(at):
			without = append(without, h.Name)
		}
	}
	if len(with) > 0 {
		all = append(all, finding{About: "hosts", State: fineState, Text: "with an entry for worker: " + strings.Join(with, ", ")})
	}
	if len(without) > 0 {
		all = append(all, finding{"hosts", noteState, "installed, without an entry for worker: " + strings.Join(without, ", "), "worker mcp install HOST"})
	}
	return all
}

package hooks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
)

// again is for how long the files are not looked at after a look.
const again = time.Second

// current returns the hooks of the settings and files now. After a fault in a file the last
// good ones stay.
func (r *Runner) current() []*hookconfig.Hook {
	r.mu.Lock()
	stale := time.Since(r.looked) >= again
	r.mu.Unlock()
	if stale {
		if err := r.load(); err != nil {
			r.opts.Logger.Warn("the last good hooks stay in force", "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hooks
}

// load reads the files if one of them has changed.
func (r *Runner) load() error {
	files := hookconfig.Expand(r.opts.Files)
	var stamp strings.Builder
	for _, f := range files {
		if info, err := os.Stat(f.Path); err == nil {
			fmt.Fprintf(&stamp, "%s %d %d\n", f.Path, info.Size(), info.ModTime().UnixNano())
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.looked.IsZero()
	r.looked = time.Now()
	if !first && stamp.String() == r.stamp {
		return nil
	}
	r.stamp = stamp.String()
	all := slices.Clone(r.opts.Own)
	var errs []error
	for _, f := range files {
		hooks, err := f.Read()
		switch {
		case err == nil:
		case !first || !f.Repository:
			errs = append(errs, err)
		case r.opts.Always || r.opts.Trust.knows(f.Shown): // what it would guard is not known
			hooks = []*hookconfig.Hook{{Event: hookconfig.PreToolUse, Type: hookconfig.Command, File: f.Shown, Wrong: "its hooks can't be read: " + err.Error()}}
		}
		all = append(all, hooks...)
	}
	for _, h := range r.hooks { // an agent may have removed what leads to a file
		here := func(f hookconfig.File) bool { return f.Shown == h.File && present(f.Path) }
		if !slices.Contains(r.opts.Own, h) && !slices.ContainsFunc(files, here) {
			all = append(all, h)
			r.opts.Logger.Warn("a file of hooks has disappeared: its last hooks stay in force until the worker is started again", "file", h.File)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.hooks = all
	return nil
}

// present reports whether there is something at a path.
func present(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// All returns the hooks of the settings and files, and those of agent files.
func (r *Runner) All() []*hookconfig.Hook {
	all := slices.Clone(r.current())
	if r.opts.Agents != nil {
		all = append(all, r.opts.Agents()...)
	}
	return all
}

// Problems returns what is wrong with files of hooks of the repository.
func (r *Runner) Problems() (errs []error) {
	for _, f := range hookconfig.Expand(r.opts.Files) {
		if _, err := f.Read(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// State returns whether a hook may run.
func (r *Runner) State(h *hookconfig.Hook) State {
	if !h.Repository || r.opts.Always {
		return IsTrusted
	}
	return r.opts.Trust.State(h, r.opts.Root)
}

// Untrusted says which hooks of the repository do not run since nobody trusts them; empty
// means none.
func (r *Runner) Untrusted() string {
	if r == nil {
		return ""
	}
	var places []string
	n := 0
	for _, h := range r.All() {
		if r.State(h) == NotTrusted {
			if n++; n <= 3 {
				places = append(places, fmt.Sprintf("%s at %s", h.Event, h.Source()))
			}
		}
	}
	if n == 0 {
		return ""
	}
	if n > len(places) {
		places = append(places, fmt.Sprintf("%d more", n-len(places)))
	}
	return fmt.Sprintf("hooks of the repository do not run, since nobody trusts them: %s. 'worker hooks list' shows them, and 'worker hooks trust' lets them run", strings.Join(places, ", "))
}

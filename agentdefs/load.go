package agentdefs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Options configures loading. The zero value is ready to use.
type Options struct {
	// Nesting leaves out the rule "task: deny" that otherwise ends every
	// agent's ruleset. Who runs agents then limits their depth.
	Nesting bool

	// Home is the folder that "~/" and "$HOME/" stand for in patterns; empty:
	// the user's.
	Home string

	// UserDir is the user's own folder of agent files, read with its subfolders
	// before the workspace's; empty or absent: none.
	UserDir string

	// Dirs are further folders, read with their subfolders after the
	// workspace's; each must exist.
	Dirs []string

	// KnownModel reports whether a file may name this model or alias; nil: any.
	KnownModel func(name string) bool

	Logger *slog.Logger // nil: discard
}

// complete returns a copy of opts with its defaults filled in.
func (opts *Options) complete() *Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, patterns with "~/" are refused
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &o
}

// Load reads the agent files of the workspace at root. What is wrong with a
// file is a diagnostic of the snapshot; an error means that root, or a folder
// of [Options.Dirs], cannot be read at all.
func Load(root string, opts *Options) (*Snapshot, error) {
	return load(context.Background(), root, opts.complete(), 1)
}

func load(ctx context.Context, root string, opts *Options, version uint64) (*Snapshot, error) {
	for _, dir := range append([]string{root}, opts.Dirs...) {
		if _, err := os.ReadDir(dir); err != nil {
			return nil, fmt.Errorf("loading agent files: %w", err)
		}
	}
	base, err := builtins(opts)
	if err != nil {
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	m := newMerge(base)
	if opts.UserDir != "" {
		if _, err := os.Stat(opts.UserDir); err == nil {
			m.folder(ctx, folder{path: opts.UserDir, shown: filepath.ToSlash(opts.UserDir), nested: true}, opts)
		}
	}
	served, ok, diagnostics := findWorkspace(root)
	m.diagnostics = append(m.diagnostics, diagnostics...)
	if ok {
		m.folder(ctx, served, opts)
	}
	for _, dir := range opts.Dirs {
		m.folder(ctx, folder{path: dir, shown: filepath.ToSlash(dir), nested: true}, opts)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("loading agent files: %w", err)
	}
	s := m.snapshot(version, served.shown)
	for _, d := range s.diagnostics {
		if d.Severity != Information {
			opts.Logger.Debug("agent file", "finding", d.String())
		}
	}
	return s, nil
}

// readAll parses files, several at once; the results are in their order.
func readAll(ctx context.Context, files []source, opts *Options) []parsed {
	out := make([]parsed, len(files))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := range next {
				out[i] = files[i].read(opts)
			}
		})
	}
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

package tool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/changes"
	"github.com/agentworker/worker/tool/internal/control"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// Workspace is the folder that the built-in tools work in. It is safe for concurrent
// use.
type Workspace struct {
	opts  Options
	env   []string // of shell_exec
	home  string   // real path of the home folder; "" if unknown
	boxes boxes
	files *rootfs.Folder
	rules permission.Workspace
	git   *gitWorktree // nil means the workspace is no worktree made for a session

	// writing is held from reading a file to replacing it, so that of two
	// edits at once neither is lost.
	writing sync.Mutex
	changes changes.Tracker
	control control.Finder
}

// OpenWorkspace opens the folder root for the built-in tools. Close it once no
// call runs any more. opts is copied; nil means all defaults.
func OpenWorkspace(root string, opts *Options) (*Workspace, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o = o.withDefaults()
	if err := checkSandbox(&o.Sandbox); err != nil {
		return nil, err
	}
	home := o.Home
	if real, err := filepath.EvalSymlinks(home); home != "" && err == nil {
		home = real
	}
	files, err := rootfs.Open(root, o.Home)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	if err := o.Sandbox.resolveFolders(files.Dir()); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	if o.Sandbox.Dir != "" {
		if err := sandbox.Sweep(o.Sandbox.Dir); err != nil {
			return nil, errors.Join(fmt.Errorf("removing what sandboxes have left: %w", err), files.Close())
		}
	}
	return &Workspace{
		opts:    o,
		env:     sandbox.Environ(o.Env, sandbox.EnvRules{Keep: o.KeepEnv}, files.Dir()),
		home:    home,
		files:   files,
		rules:   permission.Workspace{Root: files.Dir(), Home: o.Home},
		control: control.Finder{Root: files.Dir(), Home: home, Folders: slices.Concat(o.AgentFiles.Folders, o.Sandbox.Protected)},
	}, nil
}

// gitWorktree is what a worktree made for a session has of its repository.
type gitWorktree struct {
	dir string   // the repository's folder
	own []string // the part of it that may be written
}

// worktreeSettings are git's in a worktree made for a session: no hook of the
// repository runs, and nothing tidies up what is not the session's.
var worktreeSettings = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"gc.auto", "0"}, {"maintenance.auto", "false"},
}

// OpenWorktree opens a git worktree that was made of this workspace, with the same
// options. Rules about absolute paths in the workspace hold for the worktree.
// Commands may write of the repository's folder what a commit on the worktree's
// own branch needs. Close it as any other workspace, and before this one.
func (ws *Workspace) OpenWorktree(w *worktree.Worktree) (*Workspace, error) {
	opts := ws.opts
	opts.Sandbox.Folders = present(opts.Sandbox.Folders)
	made, err := OpenWorkspace(w.Path, &opts)
	if err != nil {
		return nil, err
	}
	made.rules.As = cmp.Or(ws.rules.As, ws.files.Dir())
	made.env = sandbox.Environ(ws.opts.Env, sandbox.EnvRules{Keep: ws.opts.KeepEnv, Git: worktreeSettings}, made.files.Dir())
	made.git = &gitWorktree{dir: w.Common}
	branch := filepath.Join("refs", "heads", filepath.FromSlash(w.Branch))
	for _, own := range []string{"objects", branch, branch + ".lock", filepath.Join("logs", branch), filepath.Join("logs", branch) + ".lock"} {
		made.git.own = append(made.git.own, filepath.Join(w.Common, own))
	}
	made.git.own = append(made.git.own, w.GitDir)
	return made, nil
}

// Paths returns what paths are relative to, for rules.
func (ws *Workspace) Paths() permission.Workspace { return ws.rules }

// Environ returns the environment of programs that tools start, without keys and passwords. The
// caller must not change it.
func (ws *Workspace) Environ() []string { return ws.env }

// Root returns the real path of the workspace.
func (ws *Workspace) Root() string { return ws.files.Dir() }

// Close releases the folder, and ends what calls have left running. Calls that
// come later fail.
func (ws *Workspace) Close() error {
	return errors.Join(ws.boxes.close(), ws.files.Close())
}

// Content returns the content of a file of the workspace, and its path there once links are
// followed. The call must have a value of the tool name for that path.
func (ws *Workspace) Content(call *Call, name, path string) (real string, content []byte, err error) {
	if _, real, err = ws.locateFile(path); err != nil {
		return "", nil, err
	}
	content, err = ws.readWhole(call, name, real)
	return real, content, err
}

// pathValues is what a tool that works on p wants. An empty p is ".".
func (ws *Workspace) pathValues(tool, p string) ([]permission.Value, error) {
	if p == "" {
		p = "."
	}
	rel, err := ws.files.Rel(p)
	if err != nil {
		return nil, err
	}
	if rel[0] == '~' || rel[0] == '$' {
		rel = "./" + rel // a name that begins so, and not the home folder
	}
	return ws.rules.PathValues(tool, rel)
}

// locateFile is locate for tools that need a path to a file.
func (ws *Workspace) locateFile(p string) (rel, real string, err error) {
	if p == "" || strings.HasSuffix(p, "/") {
		return "", "", fmt.Errorf("path %q names no file", p)
	}
	return ws.files.Locate(p)
}

// filePathValues is pathValues for tools that need a path to a file.
func (ws *Workspace) filePathValues(tool, p string) ([]permission.Value, error) {
	if p == "" {
		return nil, fmt.Errorf("path is empty: give one relative to the workspace")
	}
	return ws.pathValues(tool, p)
}

// Builtin returns the built-in tools, which work in ws.
func Builtin(ws *Workspace) []Tool { return BuiltinIn(ws, "") }

// BuiltinIn returns the same tools, of which shell_exec begins in dir, a folder of the
// workspace: its path there, clean and without links. Paths are relative to the
// workspace all the same.
func BuiltinIn(ws *Workspace, dir string) []Tool {
	return []Tool{
		readFile(ws),
		writeFile(ws),
		editFile(ws),
		applyPatch(ws),
		listDir(ws),
		globFiles(ws),
		grepFiles(ws),
		shellExec(ws, dir),
	}
}

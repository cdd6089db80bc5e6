package tool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// Options configures a Workspace. The zero value is ready to use.
type Options struct {
	// Shell runs the commands of shell_exec, as Shell -c -- command. Empty means
	// bash where it is in PATH, else sh.
	Shell string

	// Env is the environment of shell_exec. nil means that of this process. Removed
	// either way are the worker's own settings, keys, passwords and the sockets
	// of agents: see [sandbox.Environ].
	Env []string

	// KeepEnv names variables of Env that commands get all the same, such as
	// GITHUB_TOKEN. The case of the names counts.
	KeepEnv []string

	// Home is the folder that ~ stands for. Empty means that of the user.
	Home string

	MaxOutputBytes int   // of one result; 0 means 50 KiB
	MaxOutputLines int   // of read_file, list_dir, glob and grep; 0 means 2,000
	MaxMatches     int   // of grep; 0 means 250
	MaxFileBytes   int64 // files beyond are skipped by grep, refused and not made by edit_file and write_file; 0 means 10 MiB

	ShellTimeout time.Duration // of a command that asks for none; 0 means 2 minutes
	KillGrace    time.Duration // between SIGTERM and SIGKILL; 0 means 2 seconds

	Sandbox    SandboxOptions
	AgentFiles AgentFiles
}

func (o Options) withDefaults() Options {
	if o.Shell == "" {
		o.Shell = findShell()
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // none: ~ is then a name like any other
	}
	setDefault(&o.MaxOutputBytes, 50<<10)
	setDefault(&o.MaxOutputLines, 2000)
	setDefault(&o.MaxMatches, 250)
	setDefault(&o.MaxFileBytes, 10<<20)
	setDefault(&o.ShellTimeout, 2*time.Minute)
	setDefault(&o.KillGrace, 2*time.Second)
	return o
}

func setDefault[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// findShell returns the path of bash, else of sh, else "".
func findShell() string {
	for _, name := range []string{"bash", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

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
	writers writers
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
	if o.Sandbox.Dir != "" {
		if err := sandbox.Sweep(o.Sandbox.Dir); err != nil {
			return nil, errors.Join(fmt.Errorf("removing what sandboxes have left: %w", err), files.Close())
		}
	}
	return &Workspace{
		opts:  o,
		env:   sandbox.Environ(o.Env, sandbox.EnvRules{Keep: o.KeepEnv}, files.Dir()),
		home:  home,
		files: files,
		rules: permission.Workspace{Root: files.Dir(), Home: o.Home},
	}, nil
}

// gitWorktree is what a worktree made for a session has of its repository.
type gitWorktree struct {
	dir string   // the repository's folder
	own []string // what of it may be written
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
	made, err := OpenWorkspace(w.Path, &ws.opts)
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

// Root returns the real path of the workspace.
func (ws *Workspace) Root() string { return ws.files.Dir() }

// Close releases the folder, and ends what calls have left running. Calls that
// come later fail.
func (ws *Workspace) Close() error {
	return errors.Join(ws.closeBoxes(), ws.files.Close())
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

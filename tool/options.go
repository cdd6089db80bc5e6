package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/sandbox"
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

	// Home is the folder that ~ means. Empty means that of the user.
	Home string

	MaxOutputBytes int   // of one result; 0 means 50 KiB
	MaxOutputLines int   // of read_file, list_dir, glob and grep; 0 means 2,000
	MaxMatches     int   // of grep; 0 means 250
	MaxFileBytes   int64 // files beyond are skipped by grep, refused and not made by edit_file and write_file; 0 means 10 MiB

	ShellTimeout time.Duration // of a command that asks for none; 0 means 2 minutes
	KillGrace    time.Duration // between SIGTERM and SIGKILL; 0 means 2 seconds

	// Keep keeps what a file was before a call of a file tool changes it. A change that can't be
	// kept is not made. nil means nothing is kept.
	Keep func(Kept) error

	Sandbox    SandboxOptions
	AgentFiles AgentFiles
}

func (o Options) withDefaults() Options {
	if o.Shell == "" {
		o.Shell = DefaultShell()
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

// DefaultShell returns the path of bash, else of sh, else "". On Windows that is the one of
// Git for Windows, if it is installed: the bash of PATH is often that of another system (WSL),
// which sees other files. None is one that an agent can write.
func DefaultShell() string {
	return shellOf(runtime.GOOS, os.Getenv, ownpath.Look)
}

// shellOf is DefaultShell for a system.
func shellOf(goos string, getenv func(string) string, look func(file string) (string, error)) string {
	names := []string{"bash", "sh"}
	if goos == "windows" {
		var git []string
		if path, err := look("git"); err == nil { // in Git\cmd, Git\bin or Git\mingw64\bin
			git = append(git, filepath.Dir(filepath.Dir(path)), filepath.Dir(filepath.Dir(filepath.Dir(path))))
		}
		for _, v := range []string{"ProgramFiles", "ProgramW6432", "LocalAppData"} {
			if dir := getenv(v); dir != "" {
				git = append(git, filepath.Join(dir, "Git"), filepath.Join(dir, "Programs", "Git"))
			}
		}
		var first []string
		for _, dir := range git {
			first = append(first, filepath.Join(dir, "bin", "bash.exe"))
		}
		names = append(first, names...)
	}
	for _, name := range names {
		path, err := look(name)
		if err == nil && !(goos == "windows" && strings.Contains(strings.ToLower(path), "system32")) { // WSL's
			return path
		}
	}
	return ""
}

// SandboxOptions configure the sandbox of programs, whatever the rules are.
type SandboxOptions struct {
	Mode sandbox.Mode // "": [sandbox.Auto]

	// Dir is the folder for what sandboxes keep while they run. "": the
	// system's folder for temporary files.
	Dir string

	// Folders are shown beside the workspace, besides those of
	// [sandbox.DefaultFolders] and PATH.
	Folders []sandbox.Folder

	Protected []string // never writable: folders of agent files. Absolute, or relative to the workspace
	Hidden    []string // never there: state, settings and keys

	Support *sandbox.Support // nil means what the system offers
}

// checkSandbox reports a sandbox that is required, and that this system has not.
func checkSandbox(o *SandboxOptions) error {
	if o.Mode != sandbox.Required {
		return nil
	}
	s := o.Support
	if s == nil {
		found := sandbox.Detect()
		s = &found
	}
	if b, why := s.Backend(); b == "" {
		return fmt.Errorf("a sandbox is required (--sandbox=required), and there is none: %s", why)
	}
	return nil
}

// resolveFolders follows the links in the paths of the folders that a person has named, except for those that an
// agent may have made.
func (o *SandboxOptions) resolveFolders(root string) error {
	written := []string{root}
	for _, f := range o.Folders {
		if real, err := filepath.EvalSymlinks(f.Path); err == nil && f.Given && f.Access == sandbox.Write {
			written = append(written, real)
		}
	}
	o.Folders = slices.Clone(o.Folders)
	for i, f := range o.Folders {
		if !f.Given {
			continue
		}
		real, err := sandbox.RealPath(f.Path, written)
		switch {
		case err == nil:
			o.Folders[i].Path = real
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("the folder %s for commands (--sandbox-folder): %w; name the folder that you mean by its real path", f.Path, err)
		}
	}
	return nil
}

// present returns the folders that are still at the path that was resolved: one that has become a link is left out.
func present(folders []sandbox.Folder) []sandbox.Folder {
	return slices.DeleteFunc(slices.Clone(folders), func(f sandbox.Folder) bool {
		real, err := filepath.EvalSymlinks(f.Path)
		return f.Given && err == nil && real != f.Path
	})
}

// Kept is a change of a file that is about to be made.
type Kept struct {
	SessionID string
	Step      int    // of the session
	Root      string // the folder that the path is relative to
	Change
	Content []byte      // what the file is; nil if there is none, or it is not known
	Mode    fs.FileMode // of the file
}

// AgentFiles are the files that say what agents may do. A person is asked
// before an agent writes one, whatever the rules allow.
type AgentFiles struct {
	// Folders hold them. Absolute, or relative to the workspace.
	Folders []string

	// Change tells in a sentence how a change of a file changes the rights of agents,
	// for the person who is asked. before is nil if there is no file. A nil Change
	// tells nothing.
	Change func(file string, before, after []byte) string
}

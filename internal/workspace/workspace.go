// Package workspace finds out which repository a worker serves, and where the
// worker keeps its state and its settings.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentworker/worker/internal/disk"
)

// Workspace is a repository that a worker serves.
type Workspace struct {
	Root      string // absolute, symlinks resolved
	ID        string // one token of a subject and of a path
	StateDir  string // absolute; this workspace's own
	StateHome string // absolute; above the state folders of all workspaces
	ConfigDir string // absolute; the user's settings for all workspaces
	Home      string // the user's home folder; empty if unknown
}

// Options says what to find. The zero value is the workspace of the current
// folder.
type Options struct {
	Dir      string              // where to start; empty means the current folder
	Name     string              // the id; empty means made of the root's name and path
	StateDir string              // empty means $XDG_STATE_HOME/agentworker/<id>
	Getenv   func(string) string // nil means os.Getenv
}

// Find returns the workspace of a folder: the git top level above it, else the
// folder itself. It writes nothing. nil means the zero Options.
func Find(opts *Options) (*Workspace, error) {
	if opts == nil {
		opts = &Options{}
	}
	getenv := opts.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	dir := opts.Dir
	if dir == "" {
		dir = "."
	}
	root, err := disk.Do(func() (string, error) { return findRoot(dir) })
	if err != nil {
		return nil, fmt.Errorf("finding the workspace of %s: %w", dir, err)
	}
	w := &Workspace{Root: root, ID: opts.Name, StateDir: opts.StateDir, Home: getenv("HOME")}
	if w.ID == "" {
		w.ID = idOf(root)
	} else if !validID.MatchString(w.ID) {
		return nil, fmt.Errorf("the workspace name %q: use up to 64 letters, digits, - and _", w.ID)
	}
	stateHome, err := xdg(getenv, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return nil, err
	}
	w.StateHome = filepath.Join(stateHome, "agentworker")
	if w.ConfigDir, err = ConfigDir(getenv); err != nil {
		return nil, err
	}
	if w.StateDir == "" {
		w.StateDir = filepath.Join(w.StateHome, w.ID)
	}
	if w.StateDir, err = filepath.Abs(w.StateDir); err != nil {
		return nil, fmt.Errorf("the state folder %s: %w", w.StateDir, err)
	}
	return w, nil
}

// MakeStateDir makes the state folder, readable by its owner only. A folder
// that exists and was named by the user keeps its mode. It must not be writable
// by everyone: whoever can write there can allow what the rules deny.
func (w *Workspace) MakeStateDir() error {
	_, err := os.Stat(w.StateDir)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(w.StateDir, 0o700); err != nil {
		return fmt.Errorf("making the state folder %s: %w (choose another with --state-dir)", w.StateDir, err)
	}
	info, err := os.Stat(w.StateDir)
	if err != nil {
		return fmt.Errorf("the state folder %s: %w", w.StateDir, err)
	}
	ours := isNew || filepath.Dir(w.StateDir) == w.StateHome
	if !ours && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("the state folder %s can be written by everyone (mode %04o): choose another with --state-dir, or run chmod o-w on it", w.StateDir, info.Mode().Perm())
	}
	if ours && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(w.StateDir, 0o700); err != nil {
			return fmt.Errorf("the state folder %s can be read by others, and its mode cannot be changed: %w", w.StateDir, err)
		}
	}
	probe, err := os.CreateTemp(w.StateDir, ".probe-")
	if err != nil {
		return fmt.Errorf("the state folder %s cannot be written: %w (choose another with --state-dir)", w.StateDir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// idOf returns the folder's name plus 8 hex digits of the hash of its path.
func idOf(root string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	if len(name) > 48 {
		name = name[:48]
	}
	sum := sha256.Sum256([]byte(root))
	return name + "-" + hex.EncodeToString(sum[:4])
}

// findRoot returns the nearest folder at or above dir that holds a .git, as
// git itself looks for it, else dir.
func findRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", real)
	}
	for at := real; ; at = filepath.Dir(at) {
		_, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return real, nil
		}
	}
}

// ConfigDir returns the folder of the user's settings for all workspaces:
// $XDG_CONFIG_HOME/agentworker.
func ConfigDir(getenv func(string) string) (string, error) {
	home, err := xdg(getenv, "XDG_CONFIG_HOME", ".config")
	return filepath.Join(home, "agentworker"), err
}

// xdg returns a base folder as the XDG base directory specification has it: a
// relative path in the variable is ignored.
func xdg(getenv func(string) string, name, below string) (string, error) {
	if dir := getenv(name); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", fmt.Errorf("there is no home folder: set HOME or %s", name)
	}
	return filepath.Join(home, filepath.FromSlash(below)), nil
}

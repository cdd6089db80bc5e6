package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoRepository is the error of [Store.Create] for a folder that is not the
// top of a git repository with working files.
var ErrNoRepository = errors.New("a worktree needs a git repository")

// copied are the settings of a repository that hold for a snapshot of it: how
// files are stored, and which are ignored. true: a path.
var copied = map[string]bool{
	"core.autocrlf": false, "core.eol": false, "core.checkroundtripencoding": false, "core.filemode": false, "core.symlinks": false,
	"core.ignorecase": false, "core.precomposeunicode": false, "core.excludesfile": true, "core.attributesfile": true,
}

// repository is a git repository with working files, or one of its worktrees.
type repository struct {
	top    string // the working files
	gitDir string // of the working files: index and HEAD
	common string // of all its worktrees: objects and branches
}

// findRepository returns the repository whose working files are those in dir.
func findRepository(ctx context.Context, dir string) (*repository, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	at := &repository{top: real}
	out, err := at.git(ctx, nil, "rev-parse", "--path-format=absolute", "--is-inside-work-tree", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w, and %s is none with working files (git init makes one): %w", ErrNoRepository, real, err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\r\n"), "\n")
	for i, line := range lines[min(1, len(lines)):] {
		if lines[i+1], err = filepath.EvalSymlinks(strings.TrimRight(line, "\r")); err != nil {
			return nil, err
		}
	}
	switch {
	case len(lines) != 4:
		return nil, fmt.Errorf("%w: git says %q of %s", ErrNoRepository, out, real)
	case lines[1] != real:
		return nil, fmt.Errorf("%w: %s is part of the one in %s, start there", ErrNoRepository, real, lines[1])
	}
	return &repository{lines[1], lines[2], lines[3]}, nil
}

// change is git for a command that changes branches. Since 2.54 git also has hooks in its
// settings: each is switched off by its name.
func (r *repository) change(ctx context.Context, args ...string) error {
	env, err := r.override(ctx, "hook", "enabled=false")
	if err != nil {
		return err
	}
	_, err = run(ctx, env, nil, append(append([]string{"-C", r.top}, safe...), args...)...)
	return err
}

// env has the repository found, where it is known.
func (r *repository) env() []string {
	if r.gitDir == "" {
		return nil
	}
	return []string{"GIT_DIR=" + r.gitDir, "GIT_WORK_TREE=" + r.top}
}

// git runs a command on the repository itself. Where that is found already, its
// working files are not asked for it: who works there may have changed the answer.
func (r *repository) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return run(ctx, r.env(), stdin, append(append([]string{"-C", r.top}, safe...), args...)...)
}

// line is git for a command that prints one line.
func (r *repository) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.git(ctx, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// commit returns the commit that a name means; "": there is none.
func (r *repository) commit(ctx context.Context, name string) (string, error) {
	id, err := r.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil && isExit(err, 1) {
		return "", nil
	}
	return id, err
}

// isExit reports whether git has ended with a status.
func isExit(err error, status int) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == status
}

// scratch is a git folder that is made for one operation. It has a repository's
// objects, an index of its own, and no settings but the copied ones.
type scratch struct {
	dir  string
	tree string // the files that it is about
	env  []string
}

// scratch returns a git folder for the files in tree. Close it.
func (r *repository) scratch(ctx context.Context, tree string) (_ *scratch, err error) {
	config := new(strings.Builder)
	format, err := r.line(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return nil, err
	}
	version := 0
	if format != "sha1" {
		version = 1
	}
	fmt.Fprintf(config, "[core]\n\trepositoryFormatVersion = %d\n\tbare = false\n\tfsmonitor = false\n\tuntrackedCache = false\n\tsplitIndex = false\n\tsafecrlf = false\n", version)
	settings, err := r.settings(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(config, "\t%s = %s\n", strings.TrimPrefix(name, "core."), quote(settings[name]))
	}
	if format != "sha1" {
		fmt.Fprintf(config, "[extensions]\n\tobjectFormat = %s\n", quote(format))
	}
	s := &scratch{tree: tree}
	if s.dir, err = os.MkdirTemp("", "worker-git-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config.String(), "none": ""} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"refs", "info"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"info/exclude", "info/attributes"} {
		if err := copyFile(filepath.Join(r.common, name), filepath.Join(s.dir, name)); err != nil {
			return nil, err
		}
	}
	none := filepath.Join(s.dir, "none")
	s.env = []string{
		"GIT_DIR=" + s.dir, "GIT_WORK_TREE=" + tree, "GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"),
		"GIT_INDEX_FILE=" + s.index(), "GIT_CONFIG_GLOBAL=" + none, "GIT_CONFIG_SYSTEM=" + none, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_AUTHOR_NAME=agentworker", "GIT_AUTHOR_EMAIL=agentworker@localhost", "GIT_COMMITTER_NAME=agentworker", "GIT_COMMITTER_EMAIL=agentworker@localhost",
	}
	return s, nil
}

// settings returns those of the copied settings that are in force.
func (r *repository) settings(ctx context.Context) (map[string]string, error) {
	out, err := r.git(ctx, nil, "config", "-z", "--get-regexp", `^core\.`)
	if err != nil && !isExit(err, 1) { // 1: there are none
		return nil, err
	}
	settings := make(map[string]string)
	for _, entry := range splitNUL(out) {
		name, value, hasValue := strings.Cut(entry, "\n")
		if !hasValue {
			value = "true"
		}
		isPath, ok := copied[name]
		if ok && isPath {
			if value, err = r.line(ctx, "config", "--type=path", "--get", name); err != nil {
				return nil, err
			}
		}
		if ok {
			settings[name] = value
		}
	}
	return settings, nil
}

// quote writes a value as git's settings have it.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// index is the scratch folder's own index.
func (s *scratch) index() string { return filepath.Join(s.dir, "index") }

// git runs a command in the scratch folder, on the files in tree.
func (s *scratch) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return run(ctx, s.env, stdin, append([]string{"-C", s.tree}, args...)...)
}

func (s *scratch) line(ctx context.Context, stdin []byte, args ...string) (string, error) {
	out, err := s.git(ctx, stdin, args...)
	return strings.TrimSpace(string(out)), err
}

// names runs a command that prints names, each ended by a NUL.
func (s *scratch) names(ctx context.Context, stdin []byte, args ...string) ([]string, error) {
	out, err := s.git(ctx, stdin, args...)
	return splitNUL(out), err
}

func splitNUL(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

func joinNUL(names []string) []byte {
	if len(names) == 0 {
		return nil
	}
	return []byte(strings.Join(names, "\x00") + "\x00")
}

func (s *scratch) close() error { return os.RemoveAll(s.dir) }

// copyFile copies a file of git's with its time, by which git tells what an index
// may have missed. One that is not there is left out.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", from)
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

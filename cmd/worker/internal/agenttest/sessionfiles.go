package agenttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/workspace"
)

// What the files of a case that is written from a session have at most.
const (
	maxSessionFiles = 500
	maxSessionBytes = 8 << 20
	maxSessionFile  = 1 << 20
)

// writeFiles writes the files of the workspace that a session has come to into a folder, as they
// were before it. What looks like a credential is masked.
func (p commands) writeFiles(ctx context.Context, ws *workspace.Workspace, from *stored, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	names, before, err := from.files(ctx, ws)
	if err != nil {
		return err
	}
	for _, f := range app.Instructions(p.Program, ws, nil).Current().Given {
		if !f.User && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	src, err := os.OpenRoot(ws.Root)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer dst.Close()
	left, bytes := 0, 0
	for i, name := range names {
		data, changed := before[name]
		var err error
		if !changed {
			data, err = readFile(src, name)
		}
		if changed && data == nil || errors.Is(err, fs.ErrNotExist) { // the session has made it, or somebody has removed it
			continue
		}
		if err != nil || i >= maxSessionFiles || bytes+len(data) > maxSessionBytes {
			left++
			continue
		}
		bytes += len(data)
		if utf8.Valid(data) {
			data = []byte(secrets.Mask(string(data)))
		}
		if err := errors.Join(dst.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755), dst.WriteFile(filepath.FromSlash(name), data, 0o644)); err != nil {
			return err
		}
	}
	if left > 0 {
		fmt.Fprintf(p.Stderr, "%d files that the session has come to are left out: they can't be read, or are too many or too large\n", left)
	}
	return nil
}

// readFile reads a file of the workspace, which is no link.
func readFile(root *os.Root, name string) ([]byte, error) {
	name = filepath.FromSlash(name)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not read", name))
	}
	return boundedfile.ReadIn(root, name, maxSessionFile)
}

// files returns the paths of the files that a session has come to, slash-separated: those that it
// has changed, with what they were before it, and those of git that its messages, calls and results
// name. nil means that there was no file.
func (f *stored) files(ctx context.Context, ws *workspace.Workspace) (names []string, before map[string][]byte, err error) {
	if before, err = f.before(app.Snapshots(ws), ws.Root); err != nil {
		return nil, nil, err
	}
	all, err := listed(ctx, ws.Root)
	if err != nil {
		return nil, nil, err
	}
	for name := range before {
		all = append(all, name)
	}
	named := namesIn(strings.Join(f.texts, "\n"))
	for _, name := range all {
		name = filepath.ToSlash(name)
		_, changed := before[name]
		if !slices.Contains(names, name) && !ofAgents(name) && (changed || named(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, before, nil
}

// namesIn returns a function that reports whether a text names a file: by its path, or by the last
// part of it alone.
func namesIn(text string) func(name string) bool {
	ofName := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/@+~", r)
	}
	words := make(map[string]bool)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !ofName(r) }) {
		words[strings.TrimPrefix(strings.TrimRight(word, "."), "./")] = true
	}
	return func(name string) bool {
		if strings.ContainsFunc(name, func(r rune) bool { return !ofName(r) }) {
			return strings.Contains(text, name)
		}
		return words[name] || words[path.Base(name)]
	}
}

// ofAgents reports whether a file lies in a folder of agent files: a case has those of its
// workspace.
func ofAgents(name string) bool {
	return slices.ContainsFunc(agentdefs.Folders(), func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}

// before returns what files of the workspace were before the sessions changed them.
func (f *stored) before(kept *snapshot.Store, root string) (map[string][]byte, error) {
	before, first := make(map[string][]byte), make(map[string]time.Time)
	for _, id := range f.sessions {
		changes, err := kept.Changes(id)
		if err != nil {
			return nil, err
		}
		var here []string
		for _, c := range changes {
			if at, ok := first[c.Path]; c.Root == root && (!ok || c.Time.Before(at)) {
				first[c.Path] = c.Time
				here = append(here, c.Path)
			}
		}
		if len(here) == 0 {
			continue
		}
		files, err := kept.Files(id, -1, here)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			before[file.Path] = file.Before
		}
	}
	return before, nil
}

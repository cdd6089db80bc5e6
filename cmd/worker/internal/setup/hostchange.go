package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentworker/worker/internal/atomicfile"
)

// maxFile bounds the files that are edited, in bytes.
const maxFile = 64 << 20

// fileChange is a change of a host's file that is not yet written.
type fileChange struct {
	File string // as it is named
	real string // behind symlinks
	old  []byte // nil means it is not there
	text []byte
	mode fs.FileMode
}

// Nothing reports whether the file needs no change.
func (c *fileChange) Nothing() bool { return bytes.Equal(c.old, c.text) }

// Diff returns the change as a unified diff.
func (c *fileChange) Diff() string {
	from := c.real
	if c.old == nil {
		from = os.DevNull
	}
	diff, err := udiff.ToUnified(from, c.real, string(c.old), udiff.Strings(string(c.old), string(c.text)), 2)
	if err != nil {
		return err.Error()
	}
	return diff
}

// Write replaces the file in one step, unless it differs from when the change was made.
func (c *fileChange) Write() error {
	now, err := readFile(c.real)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.old) || (now == nil) != (c.old == nil) {
		return fmt.Errorf("%s was changed meanwhile: nothing was written", c.File)
	}
	if err := os.MkdirAll(filepath.Dir(c.real), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(c.real, c.text, c.mode)
}

// readFile returns the text of a file; nil means it is not there.
func readFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no regular file of up to 64 MiB", file)
	}
	text, err := os.ReadFile(file)
	return append([]byte{}, text...), err
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Install returns the change that adds a server to the host's file for the user, or to that of
// the project. An entry of that name that starts something else is an error.
func (h *host) Install(p hostFolders, project bool, name string, s serverCommand) (*fileChange, error) {
	return h.change(p, project, name, func(text []byte, entries map[string]any) (string, map[string]any, error) {
		want := plainEntry(h.entry(s))
		if entry, ok := entries[name]; ok {
			if !hasAll(entry, want) {
				return "", nil, fmt.Errorf("it has an entry %q that starts something else; 'worker mcp uninstall %s' takes it out, and --name adds one of another name", name, h.Name)
			}
			return string(text), nil, nil
		}
		made, err := h.insert(text, name, h.entry(s))
		return made, want, err
	})
}

// Remove returns the change that removes a server from the file.
func (h *host) Remove(p hostFolders, project bool, name string) (*fileChange, error) {
	return h.change(p, project, name, func(text []byte, entries map[string]any) (string, map[string]any, error) {
		if _, ok := entries[name]; !ok {
			return string(text), nil, nil
		}
		made, err := h.remove(text, name)
		return made, map[string]any{}, err
	})
}

// Has reports whether the host's file for the user, or that of the project, has an entry.
func (h *host) Has(p hostFolders, project bool, name string) (bool, error) {
	file, _, err := h.file(p, project)
	if err != nil {
		return false, err
	}
	text, err := readFile(file)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return false, err
	}
	values, err := h.values(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	_, ok := h.entries(values)[name]
	return ok, nil
}

// change returns what edit makes of the host's file. edit returns the new text and the
// added entry. A nil entry means that nothing was added, an empty one that the entry
// was removed. Everything else in the file must mean the same before and after.
func (h *host) change(p hostFolders, project bool, name string, edit func([]byte, map[string]any) (string, map[string]any, error)) (*fileChange, error) {
	if !serverName.MatchString(name) {
		return nil, fmt.Errorf("the name %q of a server has other characters than letters, digits, - and _, or too many", name)
	}
	file, real, err := h.file(p, project)
	if err != nil {
		return nil, err
	}
	c := &fileChange{File: file, real: real, mode: 0o600}
	if project {
		c.mode = 0o644
	}
	if c.old, err = readFile(real); err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err == nil {
		c.mode = info.Mode().Perm()
	}
	values, err := h.values(c.old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: nothing was written", file, err)
	}
	made, entry, err := edit(c.old, h.entries(values))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if c.text = []byte(made); made == string(c.old) {
		c.text = c.old
		return c, nil
	}
	after, err := h.values(c.text)
	if err == nil && !reflect.DeepEqual(after, h.with(values, name, entry)) {
		err = errors.New("the file would say something else than before")
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be edited safely (%w): nothing was written; write the entry by hand", file, err)
	}
	return c, nil
}

// file returns the host's file: its name, and the path that symlinks lead to. A file of a
// project must be within it, so that no repository leads to another file.
func (h *host) file(p hostFolders, project bool) (named, real string, err error) {
	var files []string
	switch {
	case !project && p.Home == "":
		return "", "", errors.New("the home folder is not known")
	case !project:
		files = h.user(p)
	case h.project == nil:
		return "", "", fmt.Errorf("%s reads no file of a project", h.Title)
	default:
		for _, path := range h.project {
			files = append(files, filepath.Join(p.Project, filepath.FromSlash(path)))
		}
	}
	named = files[0]
	if i := slices.IndexFunc(files, func(f string) bool { _, err := os.Lstat(f); return err == nil }); i >= 0 {
		named = files[i]
	}
	if real, err = behind(named); err != nil {
		return "", "", err
	}
	if project {
		root, err := behind(p.Project)
		if err != nil {
			return "", "", err
		}
		if below, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(below) {
			return "", "", fmt.Errorf("%s leads to %s, which is not within the workspace", named, real)
		}
	}
	return named, real, nil
}

// behind resolves the symlinks of a path whose last part may not exist.
func behind(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link to a file that is not there", path)
	}
	dir, err := behind(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

func (h *host) values(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	if h.toml {
		return tomlValues(text)
	}
	f, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	return f.values()
}

// entries returns the servers of a document; nil means it has none.
func (h *host) entries(values map[string]any) map[string]any {
	for _, key := range h.keys {
		values, _ = values[key].(map[string]any)
	}
	return values
}

func (h *host) insert(text []byte, name string, fields []entryField) (string, error) {
	if h.toml {
		return tomlInsert(string(text), strings.Join(h.keys, ".")+"."+name, fields)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	f, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	return f.insert(h.keys, name, entryText(fields))
}

func (h *host) remove(text []byte, name string) (string, error) {
	if h.toml {
		return tomlRemove(string(text), strings.Join(h.keys, ".")+"."+name)
	}
	f, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	return f.remove(h.keys, name)
}

// with returns the values that a document must have after an entry was added or removed.
func (h *host) with(values map[string]any, name string, entry map[string]any) map[string]any {
	var put func(values map[string]any, keys []string) map[string]any
	put = func(values map[string]any, keys []string) map[string]any {
		values = maps.Clone(values)
		if values == nil {
			values = map[string]any{}
		}
		switch {
		case len(keys) > 0:
			below, _ := values[keys[0]].(map[string]any)
			below = put(below, keys[1:])
			if values[keys[0]] = below; h.toml && len(below) == 0 {
				delete(values, keys[0])
			}
		case len(entry) == 0:
			delete(values, name)
		default:
			values[name] = entry
		}
		return values
	}
	return put(values, h.keys)
}

// plainEntry returns an entry with the types of a document that was read.
func plainEntry(fields []entryField) map[string]any {
	var values map[string]any
	_ = json.Unmarshal([]byte(entryText(fields)), &values) // it was made of such values
	return values
}

// hasAll reports whether an entry has all wanted values. It may have others.
func hasAll(entry any, want map[string]any) bool {
	has, ok := entry.(map[string]any)
	for key, value := range want {
		ok = ok && reflect.DeepEqual(has[key], value)
	}
	return ok
}

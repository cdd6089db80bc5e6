package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/symlink"
)

// Workspace is what paths are relative to. It reads the file system and never
// changes it.
type Workspace struct {
	Root string // absolute, symlinks resolved
	Home string // what "~/" and "$HOME/" mean; "": the user's home folder

	// As is the folder of which Root is a copy, if it is one: absolute paths of
	// rules are written for that folder. "": Root itself.
	As string

	// Dir is the folder in which commands begin, absolute. "": Root.
	Dir string

	// folds tells of a folder whether it takes names in any case. nil means by
	// trying; for tests.
	folds func(dir string) bool
}

// PathValues returns the values of a file at path: its cleaned path, and every
// path that symlinks at it or on the way to it lead to. The file need not exist
// yet. The text of a path inside the workspace is relative to it ("." is the
// workspace itself), of one outside absolute.
//
// "~/x" and "$HOME/x" are in the home folder. It is an error if the path is
// blank, contains a NUL, has more than 4096 bytes, or leads through a circle of
// symlinks.
//
// Where the file system takes names in any case, there are also values in lower
// case, by which rules deny the file however it is written.
func (w Workspace) PathValues(tool, path string) ([]Value, error) {
	abs, err := w.absolute(path)
	if err != nil {
		return nil, err
	}
	forms, err := resolvedForms(abs)
	if err != nil {
		return nil, fmt.Errorf("resolving path %q: %w", path, err)
	}
	forms = w.homeForms(forms)
	values := make([]Value, 0, len(forms))
	for _, form := range forms {
		values = append(values, w.FileValue(tool, form))
	}
	if slices.ContainsFunc(forms, w.FoldsCase) {
		for _, v := range slices.Clone(values) {
			values = append(values, v.InLowerCase())
		}
	}
	return values, nil
}

// HomeFolder returns what "~/" means, or "" without a home folder.
func (w Workspace) HomeFolder() string { return homeFolder(w.Home) }

// absolute returns the absolute path that path means, not cleaned.
func (w Workspace) absolute(path string) (string, error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", errors.New("the path is empty")
	case len(path) > maxPath:
		return "", fmt.Errorf("the path has %d bytes, more than %d: shorten it", len(path), maxPath)
	case strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("path %q contains a NUL", path)
	}
	for _, h := range []string{"~", "$HOME", "${HOME}"} {
		rest, ok := strings.CutPrefix(path, h)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		home := w.HomeFolder()
		if home == "" {
			return "", fmt.Errorf("path %q: there is no home folder", path)
		}
		return home + "/" + rest, nil
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return w.Root + string(filepath.Separator) + path, nil
}

// FileValue returns the value of the absolute, cleaned path abs. Symlinks are
// not followed: see [Workspace.PathValues].
func (w Workspace) FileValue(tool, abs string) Value {
	v := Value{Tool: tool, Text: filepath.ToSlash(abs), Abs: filepath.ToSlash(w.meant(abs))}
	if abs == w.Root {
		v.Text = "."
	} else if rel, ok := below(w.Root, abs); ok {
		v.Text = filepath.ToSlash(rel)
	}
	return v
}

// meant returns the path that rules know abs by.
func (w Workspace) meant(abs string) string {
	if w.As == "" {
		return abs
	}
	if abs == w.Root {
		return w.As
	}
	if rel, ok := below(w.Root, abs); ok {
		return filepath.Join(w.As, rel)
	}
	return abs
}

// below returns the part of abs that is below the folder dir.
func below(dir, abs string) (string, bool) {
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(abs, dir)
}

// homeForms adds the forms of paths that rules about "~/" match, if the home
// folder is a symlink and paths are below the real one.
func (w Workspace) homeForms(forms []string) []string {
	home := w.HomeFolder()
	if home == "" {
		return forms
	}
	home = filepath.Clean(home)
	real, err := filepath.EvalSymlinks(home)
	if err != nil || real == home {
		return forms
	}
	for _, form := range slices.Clone(forms) {
		if rest, ok := below(real, w.meant(form)); ok {
			if p := filepath.Join(home, rest); !slices.Contains(forms, p) {
				forms = append(forms, p)
			}
		}
	}
	return forms
}

// maxPath bounds the bytes of a path, as kernels do.
const maxPath = 4096

// resolvedForms returns the cleaned form of an absolute path and what it
// becomes at each symlink on the way, the last being free of symlinks. The
// path is walked as the kernel walks it, where "x/.." is above what x leads
// to, and as the tools do, who clean it first.
func resolvedForms(abs string) ([]string, error) {
	clean := filepath.Clean(abs)
	forms := []string{clean}
	walks := []string{clean}
	if strings.Contains(abs, "..") {
		walks = append(walks, abs)
	}
	for _, path := range walks {
		if err := walkLinks(path, func(form string) {
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}); err != nil {
			return nil, err
		}
	}
	return forms, nil
}

// walkLinks calls found with each path that the symlinks of path lead to.
func walkLinks(path string, found func(string)) error {
	done := filepath.VolumeName(path) + string(filepath.Separator) // resolved so far
	rest := symlink.Split(path)
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		if name == ".." {
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next // a file, or not there: what follows is text
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		root, err := rest.Follow(target)
		if err != nil {
			return err
		}
		if root != "" {
			done = root
		}
		found(filepath.Join(append([]string{done}, rest.Rest()...)...))
	}
	found(filepath.Clean(done))
	return nil
}

package snapshot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Hash returns the hash of a content, as a [Change] has it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// File is a file that a session has changed, and its content before and after.
type File struct {
	Path     string
	Before   []byte // what it was; nil means there was none
	Now      []byte // what it is; nil means there is none
	Mode     fs.FileMode
	Conflict string // why undoing would lose a change of somebody else; empty means it would not

	root string
	mode fs.FileMode // of what it is
}

// Undone reports whether the file is already what it was.
func (f *File) Undone() bool {
	return (f.Before == nil) == (f.Now == nil) && string(f.Before) == string(f.Now)
}

// maxFile bounds the files that are read, in bytes.
const maxFile = 64 << 20

// ErrNotChanged is the error of a file that a session has not changed.
var ErrNotChanged = errors.New("the session has not changed")

// Kept is what is kept of a file that a session has changed.
type Kept struct {
	Path string

	store   *Store
	session string
	changes []Change // the oldest first, one at least
}

// Kept returns the files that a session has changed after a step, by path. only names the files; none
// means all.
func (s *Store) Kept(session string, step int, only []string) ([]Kept, error) {
	changes, err := s.Changes(session)
	if err != nil {
		return nil, err
	}
	byPath := map[string][]Change{}
	var paths []string
	for _, c := range changes {
		if c.Step <= step || len(only) > 0 && !slices.Contains(only, c.Path) {
			continue
		}
		if byPath[c.Path] == nil {
			paths = append(paths, c.Path)
		}
		byPath[c.Path] = append(byPath[c.Path], c)
	}
	for _, name := range only {
		if byPath[name] == nil {
			return nil, fmt.Errorf("%w %s", ErrNotChanged, name)
		}
	}
	slices.Sort(paths)
	var all []Kept
	for _, p := range paths {
		all = append(all, Kept{p, s, session, byPath[p]})
	}
	return all, nil
}

// Files returns what the changes of a session after a step have made of the files, by path. only
// names the files; none means all.
func (s *Store) Files(session string, step int, only []string) ([]File, error) {
	all, err := s.Kept(session, step, only)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, k := range all {
		f, err := k.File()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// File returns what the session has made of the file.
func (k Kept) File() (File, error) {
	first := k.changes[0]
	f := File{Path: first.Path, Mode: first.Mode, root: first.Root}
	var err error
	if first.Before != "" {
		if f.Before, err = k.store.content(k.session, first); err != nil {
			return f, err
		}
		f.Before = append([]byte{}, f.Before...)
	}
	if f.Now, f.mode, err = read(f.root, f.Path); err != nil {
		return f, err
	}
	now := ""
	if f.Now != nil {
		now = Hash(f.Now)
	}
	left := slices.ContainsFunc(k.changes, func(c Change) bool { return c.After == now })
	switch {
	case f.Undone():
	case !left:
		f.Conflict = "it was changed after the session's last change of it"
	default:
		own := []string{first.Before} // a change may have failed, so that none follows on it
		for _, c := range k.changes {
			if !slices.Contains(own, c.Before) {
				f.Conflict = fmt.Sprintf("somebody else changed it before step %d", c.Step)
			}
			own = append(own, c.After)
		}
	}
	return f, nil
}

// RestoreError says why a file could not be made what it was.
type RestoreError struct {
	Path   string
	Undone []string // other files, which are what they were, and could not be put back
	Err    error
}

// Error implements error.
func (e *RestoreError) Error() string {
	if len(e.Undone) > 0 {
		return fmt.Sprintf("%s: %v; these are undone already: %s", e.Path, e.Err, strings.Join(e.Undone, ", "))
	}
	return fmt.Sprintf("nothing is undone: %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *RestoreError) Unwrap() error { return e.Err }

// ErrChanged is the cause of a [RestoreError] if somebody has changed the file since it was read.
var ErrChanged = errors.New("it has changed at this moment: try again")

// Revert makes files what they were. Without force nothing changes if one of them has a conflict. If
// one can't be restored, the others are put back, and the error is a [RestoreError].
func Revert(files []File, force bool) error {
	if err := Conflicts(files); err != nil && !force {
		return err
	}
	var done []File
	for _, f := range files {
		if f.Undone() {
			continue
		}
		if err := f.restore(); err != nil {
			return putBack(done, &RestoreError{Path: f.Path, Err: err})
		}
		done = append(done, f)
	}
	return nil
}

// putBack takes back what Revert has done before its error, which it completes.
func putBack(done []File, err *RestoreError) error {
	for _, f := range done {
		f.Before, f.Now, f.Mode = f.Now, f.Before, f.mode
		if f.restore() != nil {
			err.Undone = append(err.Undone, f.Path)
		}
	}
	return err
}

// Conflicts returns an error that names the files with changes of others, which Revert would undo,
// too; nil without any.
func Conflicts(files []File) error {
	var conflicts []string
	for _, f := range files {
		if f.Conflict != "" {
			conflicts = append(conflicts, f.Path+": "+f.Conflict)
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	return fmt.Errorf("nothing is undone, since that would undo changes of others, too:\n%s", strings.Join(conflicts, "\n"))
}

// restore makes the file what it was, unless somebody changes it at this moment.
func (f *File) restore() error {
	now, _, err := read(f.root, f.Path)
	if err != nil {
		return err
	}
	if (now == nil) != (f.Now == nil) || string(now) != string(f.Now) {
		return ErrChanged
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if f.Before == nil {
		return root.Remove(f.Path)
	}
	if err := root.MkdirAll(path.Dir(f.Path), 0o777); err != nil {
		return err
	}
	mode := f.Mode.Perm()
	if mode == 0 {
		mode = 0o644
	}
	temp := path.Join(path.Dir(f.Path), ".worker-"+rand.Text()+".tmp")
	if err := root.WriteFile(temp, f.Before, 0o600); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if err := errors.Join(root.Chmod(temp, mode), root.Rename(temp, f.Path)); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// read reads a file below a folder; nil means there is none.
func read(dir, name string) ([]byte, fs.FileMode, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("the folder that the session worked in: %w", err)
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is no file any more", name)
	case info.Size() > maxFile:
		return nil, 0, fmt.Errorf("%s is too large to look at", name)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	return content, info.Mode(), err
}

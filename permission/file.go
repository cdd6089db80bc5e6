package permission

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/fileinfo"
)

// File is a permissions.jsonc: rules in the format of [ParseJSON] that people
// edit and [File.Allow] adds to. It is safe for concurrent use, even by several
// processes.
type File struct {
	path, home string
	optional   bool // a missing file has no rules
	parse      func(data []byte) (*Ruleset, error)

	mu      sync.Mutex
	rules   *Ruleset // the last good ones
	err     error    // of the last reading
	data    []byte   // what was read last
	info    fs.FileInfo
	settled bool // info was old when read: the same info means the same text
}

// OpenFile opens the file at path. A missing one is created with only comments
// (mode 0600, its folder 0700). home is what "~/" means; "" is the
// user's home folder. A broken file is a [*SyntaxError].
func OpenFile(path, home string) (*File, error) {
	f := &File{path: path, home: home}
	if err := f.create(); err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	if _, err := f.Rules(); err != nil {
		return nil, err
	}
	return f, nil
}

// Follow returns a file that others make and change, and which may not exist: then its
// Rules are none. If it disappears, the last rules stay. It is never written.
func Follow(path, home string) *File { return &File{path: path, home: home, optional: true} }

// FollowAs is [Follow] for a file in another format, which parse reads.
func FollowAs(path string, parse func(data []byte) (*Ruleset, error)) *File {
	return &File{path: path, optional: true, parse: parse}
}

// RulesAndText is [File.Rules] with the text that was read last: that of the rules, unless
// there is an error.
func (f *File) RulesAndText() (*Ruleset, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rules, err := f.reload()
	return rules, f.data, err
}

// maxFile bounds a file of rules, in bytes.
const maxFile = 4 << 20

// ReadFile returns the rules that [OpenFile] would begin with, and writes
// nothing. A missing file has no rules.
func ReadFile(path, home string) (rules *Ruleset, exists bool, err error) {
	f := &File{path: path, home: home}
	rules, err = f.Rules()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return rules, true, err
}

// create writes a file of comments if there is no file, never over one.
func (f *File) create() error {
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Create(f.path, newText, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Rules returns the rules in force. It reads the file again if that has
// changed. If the file is broken or gone now, it returns the last good rules
// and the error.
func (f *File) Rules() (*Ruleset, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reload()
}

// settleTime is how old a change of the file has to be for its time to tell a
// later one apart: file systems count in ticks.
const settleTime = 2 * time.Second

func (f *File) reload() (*Ruleset, error) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if link, lost := os.Readlink(f.path); lost == nil { // whose rules are not known
			f.info = nil
			return f.rules, fmt.Errorf("reading permissions: %s is a link to %s, which is not there: mend or remove it", f.path, link)
		}
	}
	if f.optional && errors.Is(err, fs.ErrNotExist) {
		if f.info = nil; f.rules.Len() > 0 { // an agent may have removed what leads to it
			return f.rules, fmt.Errorf("%s has disappeared: its last rules stay in force until the worker is started again", f.path)
		}
		f.rules, f.data, f.err = nil, nil, nil
		return nil, nil
	}
	if err != nil {
		f.info = nil
		return f.rules, fmt.Errorf("reading permissions: %w", err)
	}
	if f.settled && f.info != nil && fileinfo.Same(info, f.info) {
		return f.rules, f.err
	}
	settled := time.Since(fileinfo.Changed(info)) > settleTime
	data, err := boundedfile.Read(f.path, maxFile)
	if err != nil {
		f.info = nil
		return f.rules, fmt.Errorf("reading permissions: %w", err)
	}
	if f.info == nil || !bytes.Equal(data, f.data) {
		rules, err := f.read(data)
		if f.err = err; err == nil {
			f.rules = rules
		}
	}
	f.data, f.info, f.settled = data, info, settled
	return f.rules, f.err
}

func (f *File) read(data []byte) (*Ruleset, error) {
	if f.parse != nil {
		return f.parse(data)
	}
	return ParseJSON(data, f.path, &ParseOptions{Home: f.home})
}

// Allow adds rules that allow the patterns of tool. They win over everything
// the file says now, except rules that deny a part of them. Comments, order and
// formatting of the rest stay. The file is replaced in one step, and two
// processes that add at once lose nothing. A broken file is not changed, and an
// error returned.
func (f *File) Allow(tool string, patterns []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range patterns {
		if _, err := compileRule(Rule{Tool: tool, Pattern: p, Action: Allow, Source: Source{File: f.path}}); err != nil {
			return fmt.Errorf("adding a permission: %w", err)
		}
	}
	path, err := filepath.EvalSymlinks(f.path) // a link to a file elsewhere stays one
	if err != nil {
		return fmt.Errorf("adding a permission: %w", err)
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("adding a permission: locking %s: %w", path, err)
	}
	defer lock.Unlock()
	for range maxRetries {
		if err = f.allow(path, tool, patterns); !errors.Is(err, errEdited) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("adding a permission: %w", err)
	}
	_, err = f.reload()
	return err
}

// maxRetries bounds how often an edit starts again because another program, which
// does not know of the lock, has changed the file in the meantime.
const maxRetries = 10

var errEdited = errors.New("the file keeps changing")

func (f *File) allow(path, tool string, patterns []string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	edited, err := allowJSON(data, f.path, tool, patterns)
	if err != nil {
		return err
	}
	if bytes.Equal(edited, data) {
		return nil
	}
	if _, err := ParseJSON(edited, f.path, &ParseOptions{Home: f.home}); err != nil {
		return fmt.Errorf("the file would be broken: %w", err)
	}
	staged, err := atomicfile.Stage(path, edited, info.Mode().Perm())
	if err != nil {
		return err
	}
	if now, err := os.Stat(path); err != nil || !fileinfo.Same(now, info) {
		return errors.Join(errEdited, err, staged.Discard())
	}
	if err := staged.Replace(); err != nil {
		return err
	}
	f.settled = false
	return nil
}

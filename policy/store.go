package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/fileinfo"
)

// maxFile bounds the bytes of one file.
const maxFile = 1 << 20

// Store is the policy that holds on a machine, as its files say it at the moment. It is
// safe for concurrent use.
type Store struct {
	dir   string
	extra string

	mu     sync.Mutex
	policy *Policy
	err    error    // what is wrong with the texts of files
	files  []File   // that policy or err is from
	seen   []string // the paths of all files that were ever read
}

// Open reads the policy in [Dir], and in extra a further file, whose owner may be the user
// too; empty means there is none. The error says what is wrong, where, and what to do.
func Open(extra string) (*Store, error) { return open(Dir, extra) }

func open(dir, extra string) (*Store, error) {
	if extra != "" {
		abs, err := filepath.Abs(extra)
		if err != nil {
			return nil, err
		}
		extra = abs
	}
	s := &Store{dir: dir, extra: extra}
	_, err := s.Current()
	return s, err
}

// Current returns the policy that holds now; nil means there is none. It reads
// the files each time. With an error nothing may be allowed: a file is missing,
// wrong or unreadable, or others than an administrator may write it.
func (s *Store) Current() (*Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("the policy: %w", err)
	}
	for _, path := range s.seen {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Path == path }) {
			return nil, fmt.Errorf("the policy: %s has held, and is gone: put it back, or start the worker anew without it", path)
		}
	}
	if slices.EqualFunc(files, s.files, func(a, b File) bool { return a.Path == b.Path && bytes.Equal(a.text, b.text) }) {
		return s.policy, s.err
	}
	s.files = files
	if s.policy, s.err = New(files...); s.err != nil {
		s.policy, s.err = nil, fmt.Errorf("the policy: %w", s.err)
	}
	for _, f := range files {
		if !slices.Contains(s.seen, f.Path) {
			s.seen = append(s.seen, f.Path)
		}
	}
	return s.policy, s.err
}

// read returns the files of the policy, in order.
func (s *Store) read() ([]File, error) {
	paths, err := s.paths()
	if err != nil {
		return nil, err
	}
	var files []File
	for _, path := range paths {
		text, err := readTrusted(path, false)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: path, text: text})
	}
	if s.extra != "" {
		text, err := readTrusted(s.extra, true)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: s.extra, text: text})
	}
	return files, nil
}

// paths returns the files in the folder of the machine's policy. What is in the folder
// counts only where nobody else may write there: the folder itself is checked as well.
func (s *Store) paths() ([]string, error) {
	if _, err := os.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := trusted(s.dir, false); err != nil {
		return nil, err
	}
	var paths []string
	main := filepath.Join(s.dir, "policy.jsonc")
	if _, err := os.Lstat(main); err == nil {
		paths = append(paths, main)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	more := filepath.Join(s.dir, "policy.d")
	entries, err := os.ReadDir(more)
	if errors.Is(err, fs.ErrNotExist) {
		return paths, nil
	}
	if err == nil {
		err = trusted(more, false)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch path := filepath.Join(more, e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case strings.HasSuffix(e.Name(), ".jsonc"):
			paths = append(paths, path)
		case strings.HasSuffix(e.Name(), ".json"):
			return nil, fmt.Errorf("%s is not read, since its name does not end with .jsonc: rename it", path)
		}
	}
	return paths, nil
}

// maxReads bounds how often a file is read again that changes while it is read.
const maxReads = 3

// readTrusted returns the text of a file that nobody but an administrator, or with own the
// user, may write.
func readTrusted(path string, own bool) ([]byte, error) {
	if err := trusted(path, own); err != nil {
		return nil, err
	}
	for range maxReads {
		text, changed, err := readOnce(path, own)
		if err != nil || !changed {
			return text, err
		}
	}
	return nil, fmt.Errorf("%s changes while it is read", path)
}

func readOnce(path string, own bool) (text []byte, changed bool, err error) {
	f, err := boundedfile.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if err := checkOwner(path, before, own); err != nil { // of what was opened, whatever has the name by now
		return nil, false, err
	}
	if text, err = io.ReadAll(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, false, err
	}
	if len(text) > maxFile {
		return nil, false, fmt.Errorf("%s is longer than 1 MiB", path)
	}
	after, err := f.Stat()
	return text, err == nil && !fileinfo.Same(before, after), err
}

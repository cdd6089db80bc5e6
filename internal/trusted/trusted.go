// Package trusted keeps what a person trusts of the things that a repository runs: contents,
// by their hashes, in a file of the user's state.
package trusted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
)

// File is the file. T is what is said of one content. It is safe for concurrent use, also by
// several processes.
type File[T any] struct {
	path string

	mu   sync.Mutex
	info fs.FileInfo // of the file that was read
	all  map[string]T
	err  error
}

// Open returns what the file at path says. The file need not exist.
func Open[T any](path string) *File[T] { return &File[T]{path: path} }

// Path returns where the file is.
func (f *File[T]) Path() string { return f.path }

// maxFile bounds the file, in bytes.
const maxFile = 4 << 20

// Read returns what the file says now, by hashes. The caller must not change it.
func (f *File[T]) Read() (map[string]T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.info, f.all, f.err = nil, nil, nil
		return nil, nil
	case err != nil:
		return nil, err
	case f.info != nil && os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size():
		return f.all, f.err
	}
	f.info = info
	f.all, f.err = load[T](f.path)
	return f.all, f.err
}

func load[T any](path string) (map[string]T, error) {
	all := map[string]T{}
	text, err := boundedfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// Change replaces the file. Of what two processes say at the same time the file may have one.
func (f *File[T]) Change(do func(all map[string]T)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := load[T](f.path)
	if err != nil {
		return err
	}
	do(all)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	f.info = nil
	return errors.Join(os.MkdirAll(filepath.Dir(f.path), 0o700), atomicfile.Write(f.path, append(text, '\n'), 0o600))
}

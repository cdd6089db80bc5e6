// Package snapshot keeps the contents of files from before sessions changed them, for a person to
// compare and to restore.
//
// Each session has a folder: contents by their hash, and a list of changes. A folder goes with
// its age, or when all of them are too large together.
package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Bounds of what is kept.
const (
	MaxAge     = 30 * 24 * time.Hour // of a session's last change
	MaxBytes   = 1 << 30             // of all sessions
	MaxSession = 128 << 20           // of one session: what comes later can't be undone
	maxLine    = 1 << 20             // of the list of changes
)

// Change is a change of a file. The hashes are SHA-256, in hex; empty means there is no file.
type Change struct {
	Time   time.Time   `json:"time"`
	Step   int         `json:"step"` // of the session, counted from 1
	Root   string      `json:"root"` // the folder that Path is relative to
	Path   string      `json:"path"` // slash-separated
	Before string      `json:"before,omitempty"`
	After  string      `json:"after,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"` // of the file before
	Lost   bool        `json:"lost,omitempty"` // what was before is not kept: it is too large
}

// Store keeps snapshots in a folder. It is safe for concurrent use, by several processes too.
type Store struct {
	dir   string
	mu    sync.Mutex
	tidy  sync.Once
	bytes map[string]int64 // of the sessions that this process has kept something of
}

// New returns the store in a folder, which need not exist yet.
func New(dir string) *Store { return &Store{dir: dir, bytes: make(map[string]int64)} }

func (s *Store) session(id string) (string, error) {
	if id == "" || !filepath.IsLocal(id) || filepath.Base(id) != id {
		return "", fmt.Errorf("%q is no session", id)
	}
	return filepath.Join(s.dir, id), nil
}

// Keep keeps a change of a session that is about to be made. before is the content of the file.
func (s *Store) Keep(session string, c Change, before []byte) error {
	dir, err := s.session(session)
	if err != nil {
		return err
	}
	s.tidy.Do(s.prune)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, known := s.bytes[session]; !known {
		s.bytes[session] = size(dir)
	}
	object := filepath.Join(dir, c.Before)
	if _, err := os.Lstat(object); c.Before != "" && !c.Lost && err != nil {
		if s.bytes[session]+int64(len(before)) > MaxSession {
			c.Lost = true
		} else if err := writeWhole(object, before); err != nil {
			return err
		}
		s.bytes[session] += int64(len(before))
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "changes"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// writeWhole writes a file that other processes see as a whole or not at all. Damage by a loss of
// power is found by its hash.
func writeWhole(name string, content []byte) error {
	temp := name + "." + rand.Text()
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, name)
}

// Changes returns the changes of a session, the oldest first. There may be none.
func (s *Store) Changes(session string) ([]Change, error) {
	dir, err := s.session(session)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "changes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Change
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var c Change
		if json.Unmarshal(lines.Bytes(), &c) == nil { // else its process was killed while it wrote
			all = append(all, c)
		}
	}
	return all, lines.Err()
}

// content returns what a file was before a change.
func (s *Store) content(session string, c Change) ([]byte, error) {
	dir, err := s.session(session)
	if err != nil {
		return nil, err
	}
	if c.Lost {
		return nil, fmt.Errorf("%s: what it was before step %d is not kept: it is too large", c.Path, c.Step)
	}
	data, err := os.ReadFile(filepath.Join(dir, c.Before))
	if err == nil && Hash(data) != c.Before {
		err = fmt.Errorf("%s: what is kept of it is damaged", c.Path)
	}
	return data, err
}

// Remove removes what is kept of a session.
func (s *Store) Remove(session string) error {
	dir, err := s.session(session)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// prune removes the folders of sessions that are too old, and the oldest while all are too large.
func (s *Store) prune() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return // there is none yet
	}
	type kept struct {
		dir   string
		last  time.Time
		bytes int64
	}
	var all []kept
	total := int64(0)
	for _, e := range entries {
		k := kept{dir: filepath.Join(s.dir, e.Name())}
		if info, err := os.Stat(filepath.Join(k.dir, "changes")); err == nil {
			k.last = info.ModTime()
		} else if info, err := e.Info(); err == nil {
			k.last = info.ModTime()
		}
		k.bytes = size(k.dir)
		total += k.bytes
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.dir, b.dir)) })
	for _, k := range all {
		if time.Since(k.last) < MaxAge && total <= MaxBytes {
			break
		}
		if os.RemoveAll(k.dir) == nil {
			total -= k.bytes
		}
	}
}

// size returns the bytes of the files in a folder.
func size(dir string) (n int64) {
	entries, _ := os.ReadDir(dir) // none are none
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Package instructions reads what a workspace says to all agents that work in it: its
// AGENTS.md, else its CLAUDE.md.
//
// The file is the repository's, so it is read as one of a stranger: nothing outside of
// the workspace, nothing but text, and no more than [MaxBytes].
package instructions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/fileinfo"
	"github.com/agentworker/worker/internal/termtext"
)

// MaxBytes bounds the text that is used of a file.
const MaxBytes = 32 << 10

// Names are the files that are looked for at the top of a workspace. The first that
// exists counts.
var Names = []string{"AGENTS.md", "CLAUDE.md"}

// Text is what a file said when it was read. It is not changed.
type Text struct {
	Name    string // of the file
	Content string // valid UTF-8, at most [MaxBytes]; empty means it is not used
	Warning string // why it is not used, or not whole; empty means nothing is wrong
}

// Reader reads the instructions of one workspace. It is safe for concurrent use.
type Reader struct {
	dir string
	log *slog.Logger

	mu   sync.Mutex
	last *Text
	seen fs.FileInfo // of the file that last was read from; nil means there was none
}

// NewReader returns a reader of the workspace at dir, an absolute path without links.
// Warnings are logged, each once for each version of the file. nil means they are not.
func NewReader(dir string, log *slog.Logger) *Reader {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Reader{dir: dir, log: log}
}

// Current returns the instructions as they are now; nil means there are none. The file is
// read again when it has changed: what is returned is the same value otherwise.
func (r *Reader) Current() *Text {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, info := r.find()
	if fileinfo.Same(info, r.seen) && (r.last == nil || r.last.Name == name) {
		return r.last
	}
	r.last, r.seen = nil, info
	if info == nil {
		return nil
	}
	text, err := read(r.dir, name)
	if err != nil {
		text = &Text{Name: name, Warning: fmt.Sprintf("%s is not given to agents: %s", name, errtext.Of(err))}
	}
	if r.last = text; text.Warning != "" {
		r.log.Warn(text.Warning, "folder", r.dir)
	}
	return text
}

// find returns the file that counts, and what its name leads to; nil means there is none.
func (r *Reader) find() (string, fs.FileInfo) {
	for _, name := range Names {
		path := filepath.Join(r.dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if to, err := os.Stat(path); err == nil { // a link that leads nowhere is there, and is said
			info = to
		}
		return name, info
	}
	return "", nil
}

// read reads the file of a name in dir.
func read(dir, name string) (*Text, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(dir, real)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, errors.New("it leads out of the workspace")
	}
	if !strings.EqualFold(filepath.Ext(rel), ".md") { // a link may not show what nobody would take for instructions
		return nil, fmt.Errorf("it leads to %s, which is no .md file", termtext.OneLine(rel, 200))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(rel); err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, errors.Join(errors.New("it is no regular file"), err)
	}
	f, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is no regular file"), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return textOf(name, data)
}

// textOf returns the part of a file's beginning that is used.
func textOf(name string, data []byte) (*Text, error) {
	text := &Text{Name: name}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > MaxBytes {
		data = data[:MaxBytes]
		for i := 1; i < utf8.UTFMax && !utf8.Valid(data); i++ { // the last character may be cut
			data = data[:MaxBytes-i]
		}
		text.Warning = fmt.Sprintf("%s is longer than %d KiB: agents are given its beginning alone", name, MaxBytes>>10)
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8 text")
	}
	text.Content = strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
	return text, nil
}

// Section returns the part of a system prompt that the instructions are; empty means there
// are none. t may be nil.
func (t *Text) Section() string {
	if t == nil || t.Content == "" {
		return ""
	}
	cut := ""
	if t.Warning != "" {
		cut = "\n[It is cut off here.]"
	}
	return fmt.Sprintf("\nWhat this workspace says to all agents that work in it (%s):\n\n%s%s\n", t.Name, t.Content, cut)
}

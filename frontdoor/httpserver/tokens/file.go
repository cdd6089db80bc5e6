package tokens

import (
	"crypto/subtle"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/fileinfo"
)

// settled is how old a change of a file has to be before another one is sure to be seen.
const settled = 2 * time.Second

// File has the current tokens of a file. While something is wrong with the file no token
// counts. The methods of a nil File find none.
type File struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	info   fs.FileInfo // when it was read; nil means there was no file
	fresh  bool        // it changed so shortly before that it is read again
	said   string      // what was logged of it last
	tokens []Token
}

// Open returns the tokens of a file, which may be missing. It is read again when it has
// changed.
func Open(path string, log *slog.Logger) *File { return &File{path: path, log: log, fresh: true} }

// current returns the tokens as they are now.
func (f *File) current() []Token {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = nil, nil
	}
	if err == nil && !f.fresh && fileinfo.Same(info, f.info) {
		return f.tokens
	}
	if err == nil {
		f.tokens, f.info, err = read(f.path)
		f.fresh = f.info != nil && time.Since(fileinfo.Changed(f.info)) < settled
	}
	said := ""
	if err != nil {
		f.tokens, f.fresh, said = nil, true, err.Error()
	}
	if said != f.said && said != "" {
		f.log.Error("the named tokens do not count", "err", err)
	}
	f.said = said
	return f.tokens
}

// Len returns how many tokens there are now.
func (f *File) Len() int { return len(f.current()) }

// Find returns whose a token is. How long it takes does not depend on how much of a token
// is right.
func (f *File) Find(text string) (caller.Identity, bool) {
	sum, found := []byte(hashOf(text)), -1
	tokens := f.current()
	for i, t := range tokens {
		if subtle.ConstantTimeCompare(sum, []byte(t.SHA256)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return caller.Identity{}, false
	}
	return tokens[found].identity(), true
}

// Named returns what the token of a name may do, and a secret that another token of the
// name has not.
func (f *File) Named(name string) (identity caller.Identity, secret string, ok bool) {
	for _, t := range f.current() {
		if t.Name == name {
			return t.identity(), t.SHA256, true
		}
	}
	return caller.Identity{}, "", false
}

func (t Token) identity() caller.Identity { return caller.Identity{Name: t.Name, Scopes: t.Scopes} }

// Package tokens has the named tokens of the HTTP door: a file of their names, scopes and
// hashes. The tokens themselves are stored nowhere.
package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// Scope is what a token is for.
type Scope = caller.Scope

// Token is a named token.
type Token struct {
	Name      string    `json:"name"`
	Scopes    []Scope   `json:"scopes"`
	SHA256    string    `json:"sha256"` // of the token's text, in hex
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// document is the file.
type document struct {
	Tokens []Token `json:"tokens"`
}

const (
	maxFile   = 1 << 20 // bytes
	maxTokens = 1000
)

// ValidName reports whether a token can have a name.
var ValidName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`).MatchString

// Parse reads the content of a file. Nothing of one that is wrong anywhere counts.
func Parse(data []byte) ([]Token, error) {
	var doc document
	if err := caller.Decode(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Tokens) > maxTokens {
		return nil, fmt.Errorf("it has %d tokens, more than %d", len(doc.Tokens), maxTokens)
	}
	names, hashes := make(map[string]bool), make(map[string]bool)
	for i, t := range doc.Tokens {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		if names[t.Name] || hashes[t.SHA256] {
			return nil, fmt.Errorf("tokens[%d]: the name %q, or its hash, is there twice", i, t.Name)
		}
		names[t.Name], hashes[t.SHA256] = true, true
	}
	return doc.Tokens, nil
}

func (t Token) check() error {
	if !ValidName(t.Name) {
		return fmt.Errorf("name %.80q: a name has 1 to 63 of a-z, 0-9, _ and -, a letter or digit first", t.Name)
	}
	if sum, err := hex.DecodeString(t.SHA256); err != nil || hex.EncodeToString(sum) != t.SHA256 || len(sum) != sha256.Size {
		return fmt.Errorf("sha256 of %q is not %d small hex digits", t.Name, 2*sha256.Size)
	}
	return CheckScopes(t.Scopes)
}

// CheckScopes reports what is wrong with the scopes of a token.
func CheckScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return errors.New("scopes is empty: say which of read, run and approve")
	}
	for i, scope := range scopes {
		if !slices.Contains(caller.Scopes, scope) || slices.Contains(scopes[:i], scope) {
			return fmt.Errorf("scope %.40q: each of read, run and approve may stand there once", scope)
		}
	}
	return nil
}

// Read returns the tokens of a file. Without the file there are none. One that others than
// its owner can read or write is an error.
func Read(path string) ([]Token, error) {
	tokens, _, err := read(path)
	return tokens, err
}

func read(path string) (_ []Token, info fs.FileInfo, err error) {
	if info, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) { // a pipe would block where it is opened
		return nil, nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the tokens: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, fmt.Errorf("reading the tokens: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, info, fmt.Errorf("%s is open to others than its owner (mode %o): no token of it counts until 'chmod 600' has closed it", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	var tokens []Token
	if err == nil {
		tokens, err = Parse(data)
	}
	if err != nil {
		return nil, info, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, info, nil
}

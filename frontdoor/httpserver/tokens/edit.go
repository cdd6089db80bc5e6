package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/internal/atomicfile"
)

// Add adds a token to a file, which it makes if it is missing, and returns the token's
// text: 64 hex digits of 32 random bytes. Nothing can return the text again.
func Add(path, name string, scopes []Scope) (text string, err error) {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	text = hex.EncodeToString(raw)
	made := Token{Name: name, Scopes: scopes, SHA256: hashOf(text), CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if err := made.check(); err != nil {
		return "", err
	}
	err = edit(path, func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(t Token) bool { return t.Name == name }) {
			return nil, fmt.Errorf("there is a token %q already: remove it first", name)
		}
		return append(tokens, made), nil
	})
	if err != nil {
		return "", err
	}
	return text, nil
}

// Remove removes a token from a file. Servers refuse it from then on.
func Remove(path, name string) error {
	return edit(path, func(tokens []Token) ([]Token, error) {
		left := slices.DeleteFunc(slices.Clone(tokens), func(t Token) bool { return t.Name == name })
		if len(left) == len(tokens) {
			return nil, fmt.Errorf("there is no token %q", name)
		}
		return left, nil
	})
}

// edit changes a file, while no other process does.
func edit(path string, change func([]Token) ([]Token, error)) (err error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	tokens, err := Read(path)
	if err == nil {
		tokens, err = change(tokens)
	}
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(document{append([]Token{}, tokens...)}, "", "  ")
	if err == nil {
		err = atomicfile.Write(path, append(data, '\n'), 0o600)
	}
	return err
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

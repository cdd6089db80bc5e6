package httpserver

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/agentworker/worker/internal/atomicfile"
)

// tokenBytes is the length of a token. Each byte is written as two hex digits.
const tokenBytes = 32

// OpenToken returns the token of a file, and makes the file if it is missing:
// 32 random bytes in hex, readable by the owner only. A file that others can
// read, or that holds something else, is an error.
func OpenToken(path string) (string, error) {
	token, err := readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := makeToken(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the token file: %w", err)
	}
	return readToken(path) // of two that make it at once, one has won
}

func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the token file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("the token file %s can be read by others (mode %o): delete it, and a new token is made", path, mode)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("the token file %s does not hold %d hex digits: delete it, and a new token is made", path, 2*tokenBytes)
	}
	return token, nil
}

// makeToken makes the file as a whole, or not at all.
func makeToken(path string) error {
	raw := make([]byte, tokenBytes)
	rand.Read(raw) // never fails
	return atomicfile.Create(path, []byte(hex.EncodeToString(raw)+"\n"), 0o600)
}

// Package pagelink finds the worker of a workspace that serves the page, and asks it for links.
package pagelink

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/internal/termtext"
)

// File is the file in the state folder with the address of the page.
const File = "page.json"

// Address is the content of that file.
type Address struct {
	URL  string `json:"url"`
	PID  int    `json:"pid"`
	Lock string `json:"lock"` // the file in the same folder that the process keeps locked while it listens
}

// Locks are files of their own, one of each process: page-RANDOM.lock.
const (
	pageLockPrefix = "page-"
	pageLockSuffix = ".lock"
)

// served reports whether the process that wrote the file still listens. After a kill its
// port may belong to another program, which must not get the token.
func (address *Address) served(stateDir string) bool {
	if filepath.Base(address.Lock) != address.Lock || !strings.HasPrefix(address.Lock, pageLockPrefix) {
		return false
	}
	lock := flock.New(filepath.Join(stateDir, address.Lock), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock() // shared, so that two that look do not see each other
	return errors.Join(err, lock.Close()) == nil && !free
}

// dial connects to the process that wrote the file, and to no other.
func (address *Address) dial(ctx context.Context, stateDir, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !address.served(stateDir) { // the lock is checked after the connection was made, so the port is still the process's
		return nil, errors.Join(errors.New("it has exited"), conn.Close())
	}
	return conn, nil
}

// ErrNoPage is why there is no link.
var ErrNoPage = errors.New("no worker of this workspace serves a page: start 'worker serve', or 'worker mcp --page'")

// TokenFile is the file in the state folder with the token of HTTP callers.
const TokenFile = "serve.token"

// Ask asks the worker that serves the page for a link. With a person and an approval it
// leads a person with a named token to a question; else it is the owner's, to the page. Without
// such a worker the error is [ErrNoPage].
func Ask(ctx context.Context, stateDir, person, approvalID string) (string, error) {
	data, err := os.ReadFile(filepath.Join(stateDir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoPage
	}
	if err != nil {
		return "", err
	}
	var address Address
	if err := json.Unmarshal(data, &address); err != nil {
		return "", fmt.Errorf("reading %s: %w", filepath.Join(stateDir, File), err)
	}
	token, err := httpserver.OpenToken(filepath.Join(stateDir, TokenFile))
	if err != nil {
		return "", err
	}
	var question []byte
	if approvalID != "" {
		if question, err = json.Marshal(map[string]string{"person": person, "approvalId": approvalID}); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.URL+"/v1/page/links", bytes.NewReader(question))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{ // no proxy: it is this machine
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return address.dial(ctx, stateDir, network, addr)
		},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w (the last one, process %d at %s, does not answer)", ErrNoPage, address.PID, address.URL)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return "", err
	}
	var made struct{ URL string }
	if resp.StatusCode != http.StatusCreated || json.Unmarshal(body, &made) != nil || made.URL == "" {
		return "", fmt.Errorf("%s has answered %s: %s", address.URL, resp.Status, termtext.OneLine(string(body), termtext.MaxCause))
	}
	return made.URL, nil
}

// Lock makes this process's lock, and removes those of killed processes.
func Lock(stateDir string) (*flock.Flock, error) {
	left, err := filepath.Glob(filepath.Join(stateDir, pageLockPrefix+"*"+pageLockSuffix))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // it may be about to be locked
		}
		old := flock.New(path, flock.SetFlag(os.O_RDWR))
		if free, err := old.TryLock(); err == nil && free {
			_ = os.Remove(path) // another process may have
		}
		_ = old.Close()
	}
	lock := flock.New(filepath.Join(stateDir, pageLockPrefix+rand.Text()+pageLockSuffix), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("locking %s failed", lock.Path()), err, lock.Close())
	}
	return lock, nil
}

package eventbus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// joinRetry is how often the host's address is looked for.
	joinRetry = 10 * time.Millisecond

	// A host that is gone does not come back; a busy one may lose a connection.
	joinReconnects    = 5
	joinReconnectWait = 100 * time.Millisecond
)

// ErrNoHost is returned where no process has the store open, or it lets nobody in.
var ErrNoHost = errors.New("no process answers")

// Join connects to the embedded store that another process of this user has
// open, through the folder that it shares ([Options.ShareDir]). It waits for
// the other to let it in until ctx ends, and then returns [ErrNoHost]. When the
// other process ends, the bus's connection does.
func Join(ctx context.Context, workspace, shareDir string, log *slog.Logger) (*Bus, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ask, err := os.CreateTemp(shareDir, "*"+askSuffix)
	if err != nil {
		return nil, fmt.Errorf("joining the worker of this workspace: %w", err)
	}
	defer os.Remove(ask.Name()) // once in, or when it has given up
	if err := ask.Close(); err != nil {
		return nil, fmt.Errorf("joining the worker of this workspace: %w", err)
	}
	retry := time.NewTicker(joinRetry)
	defer retry.Stop()
	var last error
	for {
		b, err := enter(ctx, workspace, filepath.Join(shareDir, doorFile), log)
		if err == nil {
			return b, nil
		}
		last = err
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("joining the worker of this workspace: %w (%w)", ErrNoHost, last)
		case <-retry.C:
		}
	}
}

// enter connects to the address in the file at path.
func enter(ctx context.Context, workspace, path string, log *slog.Logger) (*Bus, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var at doorway
	if err := json.Unmarshal(data, &at); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &Bus{workspace: workspace}
	opts := append(connOptions(workspace, log), nats.Token(at.Token), nats.MaxReconnects(joinReconnects), nats.ReconnectWait(joinReconnectWait))
	if err := b.connect(ctx, at.URL, opts); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	// The port of a process that was killed may be anybody's by now; only the
	// one that wrote the file knows the name.
	if name := b.conn.ConnectedServerName(); name != serverName(at.Token) {
		return nil, errors.Join(fmt.Errorf("%s answers as %q, which is another server", at.URL, name), b.Close())
	}
	return b, nil
}

// serverName is the name of the server with this token: who knows the token
// knows it, and it tells nothing of the token.
func serverName(token string) string {
	sum := sha256.Sum256([]byte("agentworker " + token))
	return "agentworker-" + hex.EncodeToString(sum[:8])
}

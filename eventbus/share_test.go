package eventbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
)

// openShared opens a store that others may join by the folder it returns.
func openShared(t *testing.T) (host *eventbus.Bus, shareDir string) {
	t.Helper()
	shareDir = filepath.Join(t.TempDir(), "share")
	host, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: t.TempDir(), ShareDir: shareDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host, shareDir
}

func join(t *testing.T, shareDir string) *eventbus.Bus {
	t.Helper()
	guest, err := eventbus.Join(t.Context(), "ws", shareDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guest.Close(); err != nil {
			t.Error(err)
		}
	})
	return guest
}

// TestJoin: a guest reads what the host stores, live, and the host what the
// guest does.
func TestJoin(t *testing.T) {
	host, shareDir := openShared(t)
	if _, err := os.Stat(filepath.Join(shareDir, "server.json")); err == nil {
		t.Error("an address is there before anybody asks for it")
	}
	path := eventbus.Path{{SessionID: "r"}}
	ours := publisher(t, host, path)
	if err := errors.Join(ours.Publish(t.Context(), delta(1)), ours.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	first, second := join(t, shareDir), join(t, shareDir)
	if first.Embedded() || !host.Embedded() {
		t.Errorf("embedded: guest %v, host %v", first.Embedded(), host.Embedded())
	}
	theirs := publisher(t, second, path.Child("c", "explore"))
	seen := 0
	for d, err := range first.Follow(t.Context(), path, eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch seen++; seen {
		case 1:
			if err := errors.Join(theirs.Publish(t.Context(), delta(2)), theirs.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if ev, err := eventbus.Decode(d.Raw); err != nil || ev.Type() != "subagent_event" {
			t.Errorf("event %s, %v, want the guest's", d.Raw, err)
		}
		break
	}
	if got := replay(t, host, path, 0); len(got) != 2 {
		t.Errorf("the host has %d events, want 2", len(got))
	}
}

func TestJoinFiles(t *testing.T) {
	host, shareDir := openShared(t)
	join(t, shareDir)
	entries, err := os.ReadDir(shareDir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "server.json" {
		t.Errorf("in the folder: %v, %v, want the address alone", entries, err)
	}
	for path, want := range map[string]os.FileMode{shareDir: 0o700, filepath.Join(shareDir, "server.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(shareDir, "server.json")); err == nil {
		t.Error("the address is there after the host has gone")
	}
}

// TestJoinToken: without the token nobody gets in.
func TestJoinToken(t *testing.T) {
	_, shareDir := openShared(t)
	join(t, shareDir)
	data, err := os.ReadFile(filepath.Join(shareDir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ URL string }
	if err := json.Unmarshal(data, &at); err != nil {
		t.Fatal(err)
	}
	for _, opts := range [][]nats.Option{nil, {nats.Token("wrong")}, {nats.UserInfo("a", "b")}} {
		if conn, err := nats.Connect(at.URL, opts...); err == nil {
			conn.Close()
			t.Errorf("%s let %d options in", at.URL, len(opts))
		}
	}
}

// TestJoinNobody: with no host, or only what a killed one left, a guest gives
// up with its context.
func TestJoinNobody(t *testing.T) {
	other, otherDir := openShared(t) // another server, at a port that a killed host had
	join(t, otherDir)
	left, err := os.ReadFile(filepath.Join(otherDir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var at map[string]any
	if err := json.Unmarshal(left, &at); err != nil {
		t.Fatal(err)
	}
	at["token"] = "of the killed one"
	killed, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"none": nil, "killed": killed, "broken": []byte("{")} {
		shareDir := t.TempDir()
		if content != nil {
			if err := os.WriteFile(filepath.Join(shareDir, "server.json"), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := eventbus.Join(ctx, "ws", shareDir, nil); !errors.Is(err, eventbus.ErrNoHost) {
			t.Errorf("%s: %v, want %v", name, err, eventbus.ErrNoHost)
		}
		cancel()
		if asks, err := filepath.Glob(filepath.Join(shareDir, "*.ask")); err != nil || len(asks) > 0 {
			t.Errorf("%s: %v, %v stay behind", name, asks, err)
		}
	}
	if !other.Embedded() {
		t.Error("the other host has gone")
	}
}

// TestHostEnds: a guest that follows learns that the host has gone.
func TestHostEnds(t *testing.T) {
	host, shareDir := openShared(t)
	guest := join(t, shareDir)
	path := eventbus.Path{{SessionID: "r"}}
	p := publisher(t, host, path)
	if err := errors.Join(p.Publish(t.Context(), delta(1)), p.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range guest.Follow(t.Context(), path, eventbus.FollowOptions{Live: true}) {
		if err == nil {
			if err := host.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if last == nil {
		t.Error("the stream ended without an error")
	}
}

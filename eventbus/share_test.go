package eventbus_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestGuest: a guest reads what the host stores, live, and the host what the
// guest does.
func TestGuest(t *testing.T) {
	dir := t.TempDir()
	host := openBus(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "share", "server.json")); err == nil {
		t.Error("an address is there before anybody asks for it")
	}
	path := event.Path{{SessionID: "r"}}
	ours := publisher(t, host, path)
	if err := errors.Join(ours.Publish(t.Context(), delta(1)), ours.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	first, second := openBus(t, dir), openBus(t, dir)
	if first.Hosts() || !first.Embedded() || !host.Hosts() {
		t.Errorf("guest: hosts %v, embedded %v; host: hosts %v", first.Hosts(), first.Embedded(), host.Hosts())
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
		if ev, err := event.Decode(d.Raw); err != nil || ev.Type() != "subagent_event" {
			t.Errorf("event %s, %v, want the guest's", d.Raw, err)
		}
		break
	}
	if got := replay(t, host, path, 0); len(got) != 2 {
		t.Errorf("the host has %d events, want 2", len(got))
	}
}

// TestShareFiles: nobody else can read the token, and nothing stays behind.
func TestShareFiles(t *testing.T) {
	dir := t.TempDir()
	shareDir := filepath.Join(dir, "share")
	if err := os.MkdirAll(shareDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"server.json", "killed.ask", ".new-1"} {
		if err := os.WriteFile(filepath.Join(shareDir, left), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host := openBus(t, dir)
	if entries, err := os.ReadDir(shareDir); err != nil || len(entries) > 0 {
		t.Errorf("before anybody joins: %v, %v, want nothing", entries, err)
	}
	openBus(t, dir)
	entries, err := os.ReadDir(shareDir)
	if err != nil || len(entries) != 2 || filepath.Ext(entries[0].Name()) != ".host" || entries[1].Name() != "server.json" {
		t.Fatalf("in the folder: %v, %v, want the lock and the address alone", entries, err)
	}
	for path, want := range map[string]os.FileMode{
		shareDir: 0o700, filepath.Join(shareDir, "server.json"): 0o600, filepath.Join(shareDir, entries[0].Name()): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	old, err := os.ReadFile(filepath.Join(shareDir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(filepath.Join(shareDir, "server.json")); err == nil && string(left) == string(old) {
		t.Error("the address is there after the host has gone")
	}
}

// TestDoorIsMadeAgain: who wants in gets in though something has cleaned up the
// folder.
func TestDoorIsMadeAgain(t *testing.T) {
	for _, gone := range []string{"server.json", "*.host", "*"} {
		dir := t.TempDir()
		openBus(t, dir)
		openBus(t, dir)
		paths, err := filepath.Glob(filepath.Join(dir, "share", gone))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", gone, paths, err)
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		openBus(t, dir)
	}
}

// TestImpostor: who listens where a killed host did, and has heard what that
// one told everybody, is told nothing.
func TestImpostor(t *testing.T) {
	dir := t.TempDir()
	host := openBus(t, dir)
	openBus(t, dir).Close()
	url, _ := address(t, dir)
	at := strings.TrimPrefix(url, "nats://")
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	greeting, err := bufio.NewReader(conn).ReadString('\n')
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	share := os.DirFS(filepath.Join(dir, "share"))
	left := t.TempDir() // as if it was killed
	if err := errors.Join(os.CopyFS(left, share), host.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "share"), os.DirFS(left)); err != nil {
		t.Fatal(err)
	}
	held := flock.New(filepath.Join(dir, "host.lock"))
	if ok, err := held.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer held.Unlock()

	impostor, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := impostor.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, greeting) // an error: it has seen who we are
			if told, _ := bufio.NewReader(conn).ReadString('\n'); told != "" {
				t.Errorf("the impostor is told: %s", told)
			}
			conn.Close()
		}
	})
	if bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir}); !errors.Is(err, eventbus.ErrNoHost) {
		t.Errorf("%v, want %v", err, eventbus.ErrNoHost)
		if err == nil {
			bus.Close()
		}
	}
	impostor.Close()
	serving.Wait()
}

// TestToken: without the token nobody gets in.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	openBus(t, dir)
	openBus(t, dir)
	url, _ := address(t, dir)
	for _, opts := range [][]nats.Option{nil, {nats.Token("wrong")}, {nats.UserInfo("a", "b")}} {
		if conn, err := nats.Connect(url, opts...); err == nil {
			conn.Close()
			t.Errorf("%s let %d options in", url, len(opts))
		}
	}
}

// address reads what a host tells of itself.
func address(t *testing.T, dir string) (url, token string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "share", "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ URL, Token string }
	if err := json.Unmarshal(data, &at); err != nil {
		t.Fatal(err)
	}
	return at.URL, at.Token
}

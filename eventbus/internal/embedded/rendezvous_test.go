package embedded_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/embedded"
)

// TestRendezvousFiles: no other user can read the token, and no file stays behind.
func TestRendezvousFiles(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "rendezvous")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"address.json", "killed.request", ".new-1"} {
		if err := os.WriteFile(filepath.Join(folder, left), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leading := open(t, dir)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("before the first follower: %v, %v, want nothing", entries, err)
	}
	open(t, dir)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 || filepath.Ext(entries[0].Name()) != ".listen" || entries[1].Name() != "address.json" {
		t.Fatalf("the folder has %v, %v, want the lock and the address alone", entries, err)
	}
	for path, want := range map[string]os.FileMode{
		folder: 0o700, filepath.Join(folder, "address.json"): 0o600, filepath.Join(folder, entries[0].Name()): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	old, err := os.ReadFile(filepath.Join(folder, "address.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := leading.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(filepath.Join(folder, "address.json")); err == nil && string(left) == string(old) {
		t.Error("the address is there after the leader has closed")
	}
}

// TestAddressIsPublishedAgain: a follower can connect after another program has
// cleaned up the folder.
func TestAddressIsPublishedAgain(t *testing.T) {
	for _, gone := range []string{"address.json", "*.listen", "*"} {
		dir := t.TempDir()
		open(t, dir)
		open(t, dir)
		paths, err := filepath.Glob(filepath.Join(dir, "rendezvous", gone))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", gone, paths, err)
		}
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		open(t, dir)
	}
}

// TestImpostor: a program that listens on the port of a killed leader, and repeats
// its greeting, learns nothing.
func TestImpostor(t *testing.T) {
	dir := t.TempDir()
	leading := open(t, dir)
	if err := open(t, dir).close(); err != nil {
		t.Fatal(err)
	}
	url, _ := readAddress(t, dir)
	at := strings.TrimPrefix(url, "nats://")
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	greeting, err := bufio.NewReader(conn).ReadString('\n')
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	files := os.DirFS(filepath.Join(dir, "rendezvous"))
	left := t.TempDir() // as if the leader was killed
	if err := errors.Join(os.CopyFS(left, files), leading.close()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "rendezvous"), os.DirFS(left)); err != nil {
		t.Fatal(err)
	}
	held := flock.New(filepath.Join(dir, "leader.lock"))
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
			_, _ = io.WriteString(conn, greeting) // an error: it has seen that it is the wrong program
			if told, _ := bufio.NewReader(conn).ReadString('\n'); told != "" {
				t.Errorf("the impostor learns: %s", told)
			}
			conn.Close()
		}
	})
	if store, err := join(t, dir, slog.New(slog.DiscardHandler)); !errors.Is(err, embedded.ErrNoLeader) {
		t.Errorf("%v, want %v", err, embedded.ErrNoLeader)
		if err == nil {
			store.close()
		}
	}
	impostor.Close()
	serving.Wait()
}

// TestToken: the server refuses a connection without the token. The store does not fail,
// whatever name the client gives: the server logs it.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	leading, began := open(t, dir), time.Now()
	open(t, dir)
	url, _ := readAddress(t, dir)
	for _, opts := range [][]nats.Option{nil, {nats.Token("wrong")}, {nats.UserInfo("critical write error", "b")}} {
		if conn, err := nats.Connect(url, opts...); err == nil {
			conn.Close()
			t.Errorf("%s accepts a connection with %d options", url, len(opts))
		}
	}
	if said := leading.Diagnosis(); said != "" || leading.ErrorSince(began) {
		t.Errorf("of the store it is said%s", said)
	}
}

// readAddress reads the address that a leader has published.
func readAddress(t *testing.T, dir string) (url, token string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "rendezvous", "address.json"))
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ URL, Token string }
	if err := json.Unmarshal(data, &at); err != nil {
		t.Fatal(err)
	}
	return at.URL, at.Token
}

package audit_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/session/audit"
)

// writerVariable has the folder of the store for a test binary that writes the log until
// it is killed.
const writerVariable = "AUDIT_WRITER_DIR"

// writer adds records, and writes "stored CALL" once one is stored.
func writer(dir string) {
	ctx := context.Background()
	bus, err := eventbus.Open(ctx, "ws", &eventbus.Options{StoreDir: dir})
	if err != nil {
		fmt.Println("wrong:", err)
		return
	}
	l, err := audit.Open(ctx, bus, audit.Options{})
	if err != nil {
		fmt.Println("wrong:", err)
		return
	}
	for n := 0; ; n++ {
		r := decision(n)
		r.ToolCallID = fmt.Sprintf("%d-%d", os.Getpid(), n)
		if err := l.Add(r); err != nil {
			fmt.Println("wrong:", err)
			return
		}
		if n%3 == 0 {
			if err := l.Flush(ctx); err != nil {
				fmt.Println("wrong:", err)
				return
			}
			fmt.Println("stored", r.ToolCallID)
		}
	}
}

// startWriter starts one, and returns what it says.
func startWriter(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), writerVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may be over
	return cmd, bufio.NewScanner(out)
}

// TestKilledWriters: of two processes that write at once, one after the other is killed at
// some moment, the one that runs the store too. The chain verifies, and has all that was
// reported as stored.
func TestKilledWriters(t *testing.T) {
	const kills = 3
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(9, 18))
	stored := make(map[string]bool)
	read := func(lines *bufio.Scanner) bool {
		if !lines.Scan() {
			return false
		}
		id, ok := strings.CutPrefix(lines.Text(), "stored ")
		if !ok {
			t.Fatal(lines.Text())
		}
		stored[id] = true
		return true
	}
	older, lines := startWriter(t, dir)
	for range kills {
		newer, next := startWriter(t, dir)
		if !read(next) { // both write now
			t.Fatal("a writer has ended")
		}
		for range random.IntN(20) {
			if !read(lines) {
				t.Fatal("a writer has ended")
			}
		}
		if err := older.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for read(lines) {
		}
		_ = older.Wait() // killed
		older, lines = newer, next
	}
	if err := older.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for read(lines) {
	}
	_ = older.Wait() // killed

	l := openLog(t, bustest.Open(t, &eventbus.Options{StoreDir: dir}), audit.Options{})
	report := verify(t, l, audit.Head{})
	var last audit.Head
	for cursor := ""; ; {
		page, err := l.Page(t.Context(), &audit.Filter{}, audit.MaxPage, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			delete(stored, r.ToolCallID)
			last = audit.Head{N: r.N, Hash: r.Hash}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(stored) > 0 || last.N != 1 {
		t.Errorf("of %d records, %d are not there that were stored, such as %v; the list ends with record %d", report.Records, len(stored), stored, last.N)
	}
}

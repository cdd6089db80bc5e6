//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// screen is a terminal on which the program runs, and somebody before it.
type screen struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	term vt10x.Terminal

	mu   sync.Mutex
	raw  strings.Builder // all that was written
	more chan struct{}   // closed with the next write; nil means nobody waits
	end  chan struct{}   // closed: nothing is written any more
}

// onScreen starts the program on a terminal of a size, in a folder.
func onScreen(t *testing.T, dir string, columns, rows int, args ...string) *screen {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(environOf(dir), "TERM=linux", "NO_COLOR=1")
	return onScreenOf(t, dir, columns, rows, cmd)
}

// onScreenOf starts a command on a terminal of a size, in a folder.
func onScreenOf(t *testing.T, dir string, columns, rows int, cmd *exec.Cmd) *screen {
	t.Helper()
	s := &screen{t: t, cmd: cmd, term: vt10x.New(vt10x.WithSize(columns, rows)), end: make(chan struct{})}
	s.cmd.Dir = dir
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil { // a test that failed half way
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		_ = s.tty.Close()
		<-s.end
	})
	return s
}

// environOf is the environment of a program whose files are all below a folder.
func environOf(dir string) []string {
	return []string{
		"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
	}
}

// unknown are sequences that the emulator takes for others: of keyboards, and questions.
var unknown = regexp.MustCompile(`\x1b\[(?:[<>=][0-9;]*[a-zA-Z]|\?[0-9;]*(?:\$p|[a-gi-km-zA-Z])|[0-9]* q)`)

// read shows what is written, up to the last whole sequence.
func (s *screen) read() {
	defer close(s.end)
	part, buf := "", make([]byte, 32<<10)
	for {
		n, err := s.tty.Read(buf)
		if n == 0 && err != nil { // as at the end of the program
			return
		}
		text := part + string(buf[:n])
		part = ""
		if i := strings.LastIndexByte(text, '\x1b'); i >= 0 && !sequence.MatchString(text[i:]) {
			text, part = text[:i], text[i:]
		}
		s.mu.Lock()
		s.raw.WriteString(text)
		_, _ = s.term.Write([]byte(unknown.ReplaceAllString(text, ""))) // it takes anything
		if s.more != nil {
			close(s.more)
			s.more = nil
		}
		s.mu.Unlock()
	}
}

// sequence is what a whole sequence begins with.
var sequence = regexp.MustCompile(`^\x1b(?:\[[0-9;?<>=$ ]*[@-Z\\^-~]|[^\[])`)

// shown returns the screen, and a channel that is closed when it changes.
func (s *screen) shown() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.term.String(), s.more
}

// sees waits until the screen matches.
func (s *screen) sees(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	limit := time.After(time.Minute)
	for {
		text, more := s.shown()
		if want.MatchString(text) {
			return
		}
		select {
		case <-more:
		case <-s.end:
			if text, _ = s.shown(); want.MatchString(text) {
				return
			}
			s.t.Fatalf("the program has ended, and the screen does not show %s:\n%s", pattern, text)
		case <-limit:
			s.t.Fatalf("the screen does not show %s:\n%s", pattern, text)
		}
	}
}

// types types keys.
func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// resize makes the terminal another size.
func (s *screen) resize(columns, rows int) {
	s.t.Helper()
	s.mu.Lock()
	s.term.Resize(columns, rows)
	s.mu.Unlock()
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

// ended waits for the end of the program, and returns all that it has written.
func (s *screen) ended(status int) string {
	s.t.Helper()
	<-s.end
	err := s.cmd.Wait()
	text, _ := s.shown()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.t.Fatalf("exit status %d (%v), want %d:\n%s", got, err, status, text)
	}
	return s.raw.String()
}

const (
	keyEnter = "\r"
	keyEsc   = "\x1b"
	keyCtrlC = "\x03"
	keyCtrlD = "\x04"
	keyUp    = "\x1b[A"
)

// workspaceFor makes a workspace with a script for the model, and returns its folder.
func workspaceFor(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.jsonl"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

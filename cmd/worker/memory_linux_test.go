package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMemoryIsClosed: no process of the user may read what a worker has in its
// memory and its environment. The kernel shows that by giving the worker's files
// below /proc to root. Run by an ordinary user: root may read all the same.
func TestMemoryIsClosed(t *testing.T) {
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "worker-memory-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(filepath.Join(dir, "worker"), "permission", "eval", "--dir", dir)
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cmd.Path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if os.Geteuid() == 0 {
		const user = 48211
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"static": {}, "tool": "read_file", "values": ["a"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, `"action"`) {
		t.Errorf("%q, %v", line, err)
	}
	info, err := os.Stat("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 {
		t.Errorf("the environment of the worker belongs to user %d", stat.Uid)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

package sandbox_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ordinaryUser is an id that no account of a system has.
const ordinaryUser = 48211

// TestAsOrdinaryUser runs the other tests again without root's rights.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // all of them run without already
	}
	dir, err := os.MkdirTemp("", "sandbox-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "sandbox") // as in the repository
	for to, from := range map[string]string{filepath.Join(work, "testdata"): "testdata", filepath.Join(dir, "testdata", "permission"): "../testdata/permission"} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, "/proc/self/exe", filepath.Join(work, "test"))
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, ordinaryUser, ordinaryUser)
	}); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.timeout=20m"}
	for _, a := range os.Args[1:] {
		if strings.HasPrefix(a, "-test.v") || strings.HasPrefix(a, "-test.run=") && !strings.Contains(a, "OrdinaryUser") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(filepath.Join(work, "test"), append(args, "-test.skip=TestAsOrdinaryUser")...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir, "SANDBOX_ROWS=" + os.Getenv("SANDBOX_ROWS"), "WORKER_TEST_LONG=" + os.Getenv("WORKER_TEST_LONG")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser, Groups: []uint32{}}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

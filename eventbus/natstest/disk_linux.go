package natstest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk is the environment variable with the folder on which a test that runs
// in a process of its own mounts a small file system.
const smallDisk = "AGENTWORKER_TEST_SMALL_DISK"

// SmallDisk runs the calling test once more, in a process with mounts of its own. There it
// returns the folder of one, of size.
func SmallDisk(t *testing.T, size string) (dir string, here bool) {
	t.Helper()
	if dir = os.Getenv(smallDisk); dir != "" {
		if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Fatal(err)
		}
		return dir, true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("this system does not let the test mount a small disk: %v", err)
	}
	if err != nil || bytes.Contains(out, []byte("--- SKIP")) {
		t.Fatalf("on a small disk: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return "", false
}

// Fill leaves no room on a disk but left bytes, and returns what makes room again.
func Fill(t *testing.T, dir string, left int64) (free func()) {
	t.Helper()
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, int64(fs.Bavail)*fs.Bsize-left)
	if err := os.WriteFile(ballast, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
}

package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentworker/worker/sandbox"
)

// TestUndumpable: a worker of which nobody may read the memory has a sandbox
// all the same. The files below /proc of such a process belong to root, and
// among them are the maps of the ids of a user namespace.
func TestUndumpable(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	p := newPlace(t, all, "", sandbox.Options{Mode: sandbox.Auto})
	if backend, why := p.session.Backend(); backend != sandbox.Namespaces && sandbox.Detect().Namespaces {
		t.Fatalf("%q: %s", backend, why)
	}
	out, _ := p.run("id -u; echo x >f && cat f")
	if want := fmt.Sprintf("%d\nx\n", os.Geteuid()); out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

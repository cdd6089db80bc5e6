package sandbox

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// architectureKnown says that the filter has the processor's system calls.
const architectureKnown = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// Detect looks at what this system offers. It asks the kernel once.
func Detect() Support { return detect() }

var detect = sync.OnceValue(func() Support {
	s := Support{System: "linux", Architecture: architectureKnown}
	if abi, err := ll.LandlockGetABIVersion(); err == nil {
		s.Landlock = abi
	}
	s.Supervisor = architectureKnown && supervisorWorks()
	if err := tryNamespaces(); err != nil {
		s.NoNamespaces = err.Error() + hint()
	} else {
		s.Namespaces = true
	}
	return s
})

// supervisorWorks reports whether the kernel has what the supervisor needs
// (Linux 5.19). It must report calls, accept a descriptor and the answer in one
// step, and keep signals from repeating a call in progress.
func supervisorWorks() bool {
	var uts unix.Utsname
	if unix.Uname(&uts) != nil {
		return false
	}
	major, minor := kernelVersion(unix.ByteSliceToString(uts.Release[:]))
	if major < 5 || major == 5 && minor < 19 {
		return false
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0)
	return e == unix.EFAULT // it knows the flags, and misses the program
}

func kernelVersion(release string) (major, minor int) {
	number := func(s string) (n int, rest string) {
		i := 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = n*10 + int(s[i]-'0')
		}
		return n, strings.TrimPrefix(s[i:], ".")
	}
	major, rest := number(release)
	minor, _ = number(rest)
	return major, minor
}

// tryNamespaces starts a holder and a command in it.
func tryNamespaces() error {
	if !architectureKnown {
		return errors.New("the processor's system calls are not in the filter's table")
	}
	dir, err := os.MkdirTemp("", "worker-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h, err := startHolder(dir, nil, false)
	if err != nil {
		return err
	}
	defer h.close()
	return h.try()
}

// hint says what to do where user namespaces are switched off.
func hint() string {
	for _, s := range []struct{ name, off, on string }{
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"user.max_user_namespaces", "0", "15000"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
	} {
		if b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/")); err == nil && strings.TrimSpace(string(b)) == s.off {
			return "; as root: sysctl -w " + s.name + "=" + s.on
		}
	}
	return ""
}

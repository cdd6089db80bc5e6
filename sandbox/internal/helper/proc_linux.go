package helper

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ofKernel reports whether an absolute path is one of the files by which the kernel
// tells of processes, and leads to no other file.
func ofKernel(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/proc")
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		if part == "cwd" || part == "root" || part == "exe" || (part == "fd" || part == "map_files") && i+1 < len(parts) {
			return false
		}
	}
	return true
}

// own returns the path below /proc that a caller means by name, in which "self" is the caller itself.
func own(c *caller, name string) string {
	name = path.Clean(name)
	for link, to := range map[string]string{"/proc/self": "/proc/" + c.tgid, "/proc/thread-self": "/proc/" + c.tgid + "/task/" + strconv.Itoa(int(c.n.PID))} {
		if rest, ok := strings.CutPrefix(name, link); ok && (rest == "" || rest[0] == '/') {
			return to + rest
		}
	}
	return name
}

// lookKernel opens one of those files for the caller. The kernel does not do it for the caller: another
// thread could have it open another path.
func lookKernel(c *caller, name string, flags int) error {
	fd, err := openKernel(c, own(c, name), flags)
	if err != nil {
		return err
	}
	return giveKernel(c, fd, flags)
}

// openKernel takes hold of a file below /proc. It follows no magic link but those to namespaces.
func openKernel(c *caller, name string, flags int) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | uint64(flags&(unix.O_NOFOLLOW|unix.O_DIRECTORY)), Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if dir, _ := path.Split(name); strings.HasSuffix(dir, "/ns/") { // what they lead to can't be read
		how.Resolve = 0
	}
	return c.hold(unix.Openat2(c.s.root, name, how))
}

// toldOfInit are the files from which everybody may read what process 1 of the sandbox is. The others are for the
// supervisor alone, which is a thread of it.
var toldOfInit = []string{
	"", "task", "stat", "statm", "status", "cmdline", "comm", "cgroup", "cpuset", "limits", "loginuid", "sessionid", "sched", "schedstat", "wchan", "mounts",
	"mountinfo", "mountstats", "oom_score", "oom_score_adj", "net",
}

// giveKernel opens what fd holds with the rights that the caller has.
func giveKernel(c *caller, fd, flags int) error {
	real, err := (place{dir: fd}).real()
	if err != nil { // a namespace
		return c.reopen(fd, flags)
	}
	who, file, _ := strings.Cut(strings.TrimPrefix(real, "/proc/"), "/")
	if pid, err := strconv.Atoi(who); err == nil && who != c.tgid && threadGroup(pid) == os.Getpid() {
		if rest, ok := strings.CutPrefix(file, "task/"); ok {
			_, file, _ = strings.Cut(rest, "/")
		}
		if first, _, _ := strings.Cut(file, "/"); !slices.Contains(toldOfInit, first) {
			return unix.EACCES
		}
	}
	// The supervisor may look into all processes, and the caller may not.
	if err := setEffective(unix.CAP_SYS_PTRACE, false); err != nil {
		return unix.EACCES
	}
	defer func() { _ = setEffective(unix.CAP_SYS_PTRACE, true) }()
	return c.reopen(fd, flags)
}

// threadGroup returns the process that a thread belongs to; 0: none.
func threadGroup(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return os.Getpid() // it is not known, so it may be
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			group, _ := strconv.Atoi(strings.TrimSpace(rest))
			return group
		}
	}
	return os.Getpid()
}

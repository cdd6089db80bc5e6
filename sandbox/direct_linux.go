package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// direct starts a helper without namespaces: with only Landlock, or in no
// sandbox.
func direct(stdio [3]*os.File) (pidfd, socket *os.File, stop func(), err error) {
	ours, theirs, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, nil, err
	}
	defer theirs.Close()
	c := exec.Command("/proc/self/exe", wire.Arg, string(wire.RoleInner))
	c.Args[0] = "worker"
	fd := -1
	c.Env, c.Dir, c.ExtraFiles = helperEnv, "/", []*os.File{theirs}
	c.Stdin, c.Stdout, c.Stderr = stdio[0], stdio[1], stdio[2]
	// The helper ends what descends from it when it loses the worker, also if a command has stopped it.
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, PidFD: &fd, Pdeathsig: unix.SIGCONT}
	started, stopped, done := make(chan error), make(chan struct{}), make(chan struct{})
	go func() { // the parent-death signal comes when this thread ends
		runtime.LockOSThread()
		defer close(done)
		err := c.Start()
		started <- err
		if err == nil {
			<-stopped
			_ = c.Wait()
		}
	}()
	if err := <-started; err != nil {
		ours.Close()
		return nil, nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	stop = func() { close(stopped); <-done }
	if fd < 0 {
		ours.Close()
		_ = c.Process.Kill()
		stop()
		return nil, nil, nil, errors.New("starting the sandbox: the kernel gives no pidfd")
	}
	return os.NewFile(uintptr(fd), "pidfd"), ours, stop, nil
}

// forLandlock turns the layout into what Landlock holds by itself. It allows
// folders with all in them: where single files are denied, what is beside them
// is allowed one by one, and nothing can be made there.
func (l *layout) forLandlock(p *Profile) {
	var read, write []string
	for _, m := range l.mounts {
		if m.Op == wire.OpWrite && m.Source != m.Target { // the session's own, which stands elsewhere here
			write = append(write, m.Source)
		}
	}
	denied := append(append([]string{}, l.plan.Hidden...), l.plan.ReadOnly...)
	for _, path := range l.read {
		read = append(read, split(path, l.plan.Hidden)...)
	}
	for _, path := range l.write {
		switch {
		case path == "/tmp" || path == p.Home:
		case path == "/dev":
			for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"} {
				write = append(write, "/dev/"+name)
			}
		default:
			write = append(write, split(path, denied)...)
			read = append(read, split(path, l.plan.Hidden)...)
		}
	}
	l.read, l.write, l.mounts = read, write, nil
	if len(l.judged) > 0 {
		l.plan.NotHeld = append(l.plan.NotHeld, newNames)
	}
	l.judged, l.free = nil, nil
}

// newNames says which files a command can make without namespaces.
const newNames = "a new file may get a name that the rules deny, or be an agent file or part of a repository (only namespaces hold that)"

// forLandlockEnv names the session's own folders where they stand, since none
// is mounted.
func forLandlockEnv(env []string, dir string) []string {
	return append(slices.Clip(env), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "home"))
}

// split returns path, or what is in it beside denied.
func split(path string, denied []string) []string {
	inside := false
	for _, d := range denied {
		if contains(d, path) {
			return nil
		}
		inside = inside || contains(path, d)
	}
	if !inside {
		return []string{path}
	}
	out := []string{path + "/."} // the names
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // what it leads to is allowed by its own path, or not
			out = append(out, split(filepath.Join(path, e.Name()), denied)...)
		}
	}
	return out
}

// list returns the limits as the kernel has them.
func (l Limits) list() []wire.Limit {
	out := []wire.Limit{{Resource: unix.RLIMIT_CORE, Value: 0}}
	processes := l.Processes
	if processes == 0 {
		processes = defaultProcesses
	}
	if processes > 0 {
		out = append(out, wire.Limit{Resource: unix.RLIMIT_NPROC, Value: uint64(processes)})
	}
	if l.OpenFiles > 0 {
		out = append(out, wire.Limit{Resource: unix.RLIMIT_NOFILE, Value: uint64(l.OpenFiles)})
	}
	if l.FileBytes > 0 {
		out = append(out, wire.Limit{Resource: unix.RLIMIT_FSIZE, Value: uint64(l.FileBytes)})
	}
	return out
}

const defaultProcesses = 4096

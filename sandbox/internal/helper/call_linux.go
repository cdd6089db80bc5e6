package helper

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// socket is the command's line to the worker.
type socket struct {
	conn *wire.Conn
	mu   sync.Mutex // of writing
}

func (s *socket) send(m wire.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Write(m)
}

// call runs one command: as process 1 of its namespaces, or without any.
func call(role wire.Role) error {
	runtime.LockOSThread() // parent-death signals come when the thread ends
	switch role {
	case wire.RoleInit: // the kernel ends its namespace with it
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return err
		}
	case wire.RoleInner: // it has to live to end what it started: "pkill worker" does not end it
		signal.Notify(make(chan os.Signal, 1))
	}
	s := &socket{conn: wire.NewConn(os.NewFile(wire.SocketFD, "worker"))}
	var job wire.Job
	if err := s.conn.Read(&job); err != nil {
		return err
	}
	status, err := perform(role, &job, s)
	if err != nil {
		return s.send(wire.Message{Kind: wire.KindError, Error: err.Error()})
	}
	return s.send(wire.Message{Kind: wire.KindExited, Status: int(status)})
}

func perform(role wire.Role, job *wire.Job, s *socket) (unix.WaitStatus, error) {
	if err := unix.CloseRange(wire.SocketFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, err
	}
	switch role {
	case wire.RoleInit:
		if err := build(job.Mounts); err != nil {
			return 0, err
		}
	case wire.RoleInner:
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return 0, err
		}
	}
	for _, l := range job.Limits {
		if err := setLimit(l.Resource, l.Value); err != nil {
			return 0, fmt.Errorf("limiting resource %d: %w", l.Resource, err)
		}
	}
	listening := make(chan int, 1)
	go func() {
		if listener, ok := <-listening; ok {
			newSupervisor(listener, job, s).run()
		}
	}()
	pid, err := start(job, listening)
	if err != nil {
		return 0, err
	}
	go follow(s, pid)
	_ = s.send(wire.Message{Kind: wire.KindStarted}) // it fails without the worker: then follow ends what runs, and wait collects it
	return wait(pid)
}

// follow reads what the worker says. When the worker has exited, all that runs
// here is ended.
func follow(s *socket, pid int) {
	for {
		var m wire.Message
		if err := s.conn.Read(&m); err != nil {
			if ending.Store(true); !killAll() {
				os.Exit(1)
			}
			return // wait collects them
		}
		if m.Kind == wire.KindSignal {
			_ = unix.Kill(-pid, unix.Signal(m.Signal))
		}
	}
}

// start starts the command on a thread that has given up what the command must
// not have. The thread ends with it. The listener of the filter goes to listening: what is
// told there begins with the start of the command's own program.
func start(job *wire.Job, listening chan<- int) (pid int, err error) {
	defer close(listening)
	path, err := lookup(job)
	if err != nil {
		return 0, err
	}
	type result struct {
		pid int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: nothing else runs here
		done <- func() (r result) {
			if job.Unheld {
				r.pid, r.err = fork(path, job)
				return r
			}
			if r.err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); r.err != nil {
				return r
			}
			if r.err = dropCaps(); r.err != nil {
				r.err = fmt.Errorf("dropping capabilities: %w", r.err)
				return r
			}
			if job.Landlock {
				if r.err = landlock(job.Read, job.Write); r.err != nil {
					r.err = fmt.Errorf("landlock: %w", r.err)
					return r
				}
			}
			listener, err := install(job.Supervise, job.NoInternet, job.Supervise && job.Datagrams)
			if err != nil {
				r.err = err
				return r
			}
			if job.Supervise {
				listening <- listener
			}
			r.pid, r.err = fork(path, job)
			return r
		}()
		runtime.Goexit()
	}()
	r := <-done
	return r.pid, r.err
}

// fork starts the program of the command, in a session of its own: unless it has a
// terminal, no program can stop and wait for a password there.
func fork(path string, job *wire.Job) (pid int, err error) {
	pid, err = syscall.ForkExec(path, job.Args, &syscall.ProcAttr{
		Dir: job.Dir, Env: job.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: job.Terminal},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s in %s: %w", path, job.Dir, err)
	}
	return pid, nil
}

// lookup finds the program of the command in the command's PATH.
func lookup(job *wire.Job) (string, error) {
	if len(job.Args) == 0 {
		return "", errors.New("no command")
	}
	name := job.Args[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, e := range job.Env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(list, ":") {
			at := path.Join(dir, name)
			var st unix.Stat_t
			if path.IsAbs(dir) && unix.Access(at, unix.X_OK) == nil && unix.Stat(at, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return at, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

// ending says that all must end: the command has ended, or the worker has
// exited.
var ending atomic.Bool

// wait collects processes until the command has ended and nothing is left of
// it. Nobody else collects any. When a process has exited, its children may
// have become children of this process, and are ended then. What may not be
// ended, since it runs as another user, is not waited for.
func wait(pid int) (status unix.WaitStatus, err error) {
	flags := 0
	for {
		var s unix.WaitStatus
		var got int
		err := retry(func() (err error) { got, err = unix.Wait4(-1, &s, flags, nil); return err })
		switch {
		case errors.Is(err, unix.ECHILD), err == nil && got == 0:
			return status, nil
		case err != nil:
			return status, err
		case got == pid:
			status = s
			ending.Store(true)
		}
		if flags = 0; ending.Load() && !killAll() {
			flags = unix.WNOHANG
		}
	}
}

// killAll ends all that runs in the namespace, or, without one, the children of
// this process: a subreaper inherits what sets itself apart. It reports false if
// there is none that it may end.
func killAll() bool {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
		return true
	}
	return killChildren()
}

// killChildren ends the children of this process; theirs become children then. It
// reports false if it could end none.
func killChildren() (killed bool) {
	for _, pid := range children() {
		if unix.Kill(pid, unix.SIGKILL) == nil {
			killed = true
		}
	}
	return killed
}

// children returns the children of this process, by the list that the kernel keeps
// (CONFIG_PROC_CHILDREN), or else by looking at all processes. The list is one of
// each thread, and those of a thread that ends go to another one, which may have been
// looked at: then all are looked at again.
func children() (pids []int) {
	for {
		before := threads()
		pids = nil
		for _, thread := range before {
			list, err := os.ReadFile("/proc/self/task/" + thread + "/children")
			if errors.Is(err, os.ErrNotExist) && thread == strconv.Itoa(os.Getpid()) {
				return scanChildren()
			}
			for field := range strings.FieldsSeq(string(list)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
					pids = append(pids, pid)
				}
			}
		}
		after := threads()
		if !slices.ContainsFunc(before, func(t string) bool { return !slices.Contains(after, t) }) {
			return pids
		}
	}
}

// threads returns the ids of this process's threads.
func threads() (ids []string) {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		ids = append(ids, t.Name())
	}
	return ids
}

// scanChildren is children without the kernel's list.
func scanChildren() (pids []int) {
	all, _ := os.ReadDir("/proc")
	self := strconv.Itoa(os.Getpid())
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + p.Name() + "/stat")
		// "PID (NAME) STATE PARENT …", and a name may contain anything.
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if len(fields) > 1 && fields[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

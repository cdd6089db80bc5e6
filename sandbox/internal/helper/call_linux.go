package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// socket is the command's line to the worker.
type socket struct {
	file *os.File
	mu   sync.Mutex // of writing
}

func (s *socket) send(m wire.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Write(s.file, m)
}

// call runs one command: as process 1 of its namespaces, or without any.
func call(role wire.Role) error {
	runtime.LockOSThread() // parent-death signals come when the thread ends
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	s := &socket{file: os.NewFile(wire.SocketFD, "worker")}
	var job wire.Job
	if err := wire.Read(s.file, &job); err != nil {
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
	c, err := start(job)
	if err != nil {
		return 0, err
	}
	answers := make(chan wire.Message)
	go follow(s, c.pid, answers)
	if c.listener >= 0 {
		go newSupervisor(c.listener, job, s, answers).run()
	}
	if err := s.send(wire.Message{Kind: wire.KindStarted}); err != nil {
		return 0, err
	}
	return wait(c.pid)
}

// follow reads what the worker says. When the worker is gone, so is all that
// runs here.
func follow(s *socket, pid int, answers chan<- wire.Message) {
	for {
		var m wire.Message
		if err := wire.Read(s.file, &m); err != nil {
			killAll()
			os.Exit(1)
		}
		switch m.Kind {
		case wire.KindSignal:
			_ = unix.Kill(-pid, unix.Signal(m.Signal))
		case wire.KindAnswer:
			answers <- m
		}
	}
}

// child is the command's first process.
type child struct {
	pid      int
	listener int // of the filter; -1: none
}

// start starts the command on a thread that has given up what the command must
// not have. The thread ends with it.
func start(job *wire.Job) (child, error) {
	path, err := lookup(job)
	if err != nil {
		return child{}, err
	}
	type result struct {
		child
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: nothing else runs here
		c := child{listener: -1}
		done <- func() (r result) {
			defer func() { r.child = c }()
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
			listener, err := install(job.Supervise, job.NoInternet)
			if err != nil {
				r.err = err
				return r
			}
			if job.Supervise {
				c.listener = listener
			}
			c.pid, r.err = syscall.ForkExec(path, job.Args, &syscall.ProcAttr{
				Dir: job.Dir, Env: job.Env, Files: []uintptr{0, 1, 2},
				Sys: &syscall.SysProcAttr{Setsid: true},
			})
			if r.err != nil {
				r.err = fmt.Errorf("starting %s in %s: %w", path, job.Dir, r.err)
			}
			return r
		}()
		runtime.Goexit()
	}()
	r := <-done
	return r.child, r.err
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
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			var st unix.Stat_t
			if filepath.IsAbs(dir) && unix.Access(path, unix.X_OK) == nil && unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

// wait collects processes until the command has ended, and then ends what it
// has left.
func wait(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		var got int
		err := retry(func() (err error) { got, err = unix.Wait4(-1, &status, 0, nil); return err })
		if err != nil {
			return 0, err
		}
		if got == pid {
			killAll()
			return status, nil
		}
	}
}

// killAll ends all that runs in the namespace, or, without one, all that
// descends from here: a subreaper inherits what sets itself apart.
func killAll() {
	for {
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL)
		} else {
			killChildren()
		}
		if err := retry(func() error { _, err := unix.Wait4(-1, nil, 0, nil); return err }); err != nil {
			return // ECHILD
		}
	}
}

// killChildren ends the children of this process; theirs become children then.
func killChildren() {
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		for field := range strings.FieldsSeq(string(list)) {
			pid := 0
			for _, d := range field {
				pid = pid*10 + int(d-'0')
			}
			if pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

package helper

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// supervisor makes names for a command that wants to make them, if the rules
// allow it. Mounts hold what is there; nothing in the kernel holds a name that
// is not there yet.
//
// It does the call itself and never lets the command's own go on, since the
// command could change the arguments in its memory after they were judged. It
// does one at a time, on one thread, which has the rights that the command has.
type supervisor struct {
	listener int
	job      *wire.Job
	socket   *socket    // for errors
	asks     *wire.Conn // only its thread reads and writes it: an answer wakes no other
	memory   [4096]byte // of a caller's memory
	root     int        // O_PATH of "/"
	own      identity

	fine  map[wire.Ask]bool   // what the worker has allowed of regular files
	reads bool                // the last answer's
	known map[string]folderID // folders that are where they were when the plan was made
}

func newSupervisor(listener int, job *wire.Job, s *socket) *supervisor {
	return &supervisor{listener: listener, job: job, socket: s, asks: wire.NewConn(blocking(wire.AskFD)), root: -1, fine: make(map[wire.Ask]bool), known: make(map[string]folderID)}
}

// blocking is a socket on which the thread itself waits.
type blocking int

func (fd blocking) Read(p []byte) (n int, err error) {
	err = retry(func() (err error) { n, err = unix.Read(int(fd), p); return err })
	if n = max(n, 0); err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

func (fd blocking) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		err = retry(func() error {
			done, err := unix.SendmsgN(int(fd), p[n:], nil, nil, unix.MSG_NOSIGNAL)
			n += max(done, 0)
			return err
		})
	}
	return n, err
}

// identity is whom files belong to that a thread makes.
type identity struct{ uid, gid int }

// notification is struct seccomp_notif.
type notification struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Nr    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// addFD is struct seccomp_notif_addfd.
type addFD struct {
	ID                            uint64
	Flags, SrcFD, NewFD, NewFlags uint32
}

const addFDSend = 2 // SECCOMP_ADDFD_FLAG_SEND

func (s *supervisor) ioctl(request uint, arg unsafe.Pointer) error {
	return retry(func() error {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), uintptr(request), uintptr(arg)); e != 0 {
			return e
		}
		return nil
	})
}

// run answers calls until the command has ended. What it cannot do any more
// ends the command.
func (s *supervisor) run() {
	runtime.LockOSThread()
	if err := s.prepare(); err != nil {
		_ = s.socket.send(wire.Message{Kind: wire.KindError, Error: "supervising: " + err.Error()})
		os.Exit(1)
	}
	for {
		var n notification
		err := s.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
		if errors.Is(err, unix.ENOENT) {
			if s.over() {
				return
			}
			continue // the caller has died meanwhile
		}
		if err != nil {
			return // none is left that could call
		}
		s.handle(&n)
	}
}

// over reports whether nothing is left that runs under the filter.
func (s *supervisor) over() bool {
	fds := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&unix.POLLHUP != 0
}

func (s *supervisor) prepare() (err error) {
	if err := blockSignals(); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // a working folder and a umask of this thread
		return err
	}
	if err := setCaps(permitted(append([]uintptr{unix.CAP_SYS_PTRACE}, commandCaps...))); err != nil {
		return err
	}
	// Caller and supervisor take turns, so that they best share a processor
	// (Linux 6.6). Without, it is slower.
	const syncWakeUp = 1
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), uintptr(unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS), syncWakeUp)
	s.own = identity{os.Geteuid(), os.Getegid()}
	s.root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

// blockSignals keeps signals from the calling thread. One that came while a
// descriptor is handed over would take it back, with the answer given already.
func blockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// handle does one call and answers it.
func (s *supervisor) handle(n *notification) {
	c, err := s.caller(n)
	if err == nil {
		err = s.do(c)
	}
	if c != nil {
		c.close()
		if c.answered {
			return
		}
	}
	r := response{ID: n.ID}
	if errors.Is(err, errNative) {
		r.Flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	} else if err != nil {
		e := unix.EACCES
		errors.As(err, &e)
		r.Error = -int32(e)
	}
	_ = s.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // ENOENT: the caller has died
}

// allowed reports nil if the rules allow what ask says.
//
// The worker holds the workspace's names still from its answer until done.
func (s *supervisor) allowed(ask wire.Ask) (done func(), err error) {
	done = func() {}
	made, old := s.area(ask.New), s.area(ask.Old)
	if made == elsewhere {
		return done, unix.EROFS
	}
	if made == free && old != judged {
		return done, nil
	}
	return s.ask(ask)
}

// ask asks the worker. Names are held still until done.
func (s *supervisor) ask(ask wire.Ask) (done func(), err error) {
	done = func() {}
	var answer wire.Message
	if s.asks.Write(wire.Message{Kind: wire.KindAsk, Ask: &ask}) != nil || s.asks.Read(&answer) != nil {
		return done, unix.EACCES
	}
	done = func() { _ = s.asks.Write(wire.Message{Kind: wire.KindDone}) }
	if answer.Errno != 0 {
		return done, unix.Errno(answer.Errno)
	}
	s.reads = answer.Reads
	return done, nil
}

// area says who decides about the names in a folder.
type area int

const (
	elsewhere area = iota // nothing is made there
	free                  // anything goes
	judged                // the worker decides
)

func (s *supervisor) area(path string) area {
	decided, open := longest(s.job.Judged, path), longest(s.job.Free, path)
	switch {
	case decided < 0 && open < 0:
		return elsewhere
	case open > decided:
		return free
	}
	return judged
}

// longest returns the length of the longest folder of dirs that path is in; -1 if it is in no folder.
func longest(dirs []string, path string) int {
	best := -1
	for _, dir := range dirs {
		if len(dir) > best && below(dir, path) {
			best = len(dir)
		}
	}
	return best
}

// below reports whether path is dir or in it.
func below(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

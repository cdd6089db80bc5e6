package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "github.com/agentworker/worker/sandbox/internal/helper" // the other end
	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// holder is the process that holds a session's namespaces.
type holder struct {
	cmd    *exec.Cmd
	mu     sync.Mutex // of a question and its answer
	number int        // of the last question
	socket *os.File
	copied map[string]string // lower folder to the place of its copy
	proxy  net.Listener      // on the namespace's loopback; nil means none
	stop   func()
	done   chan struct{}
}

// helperEnv is all that the helper gets of the environment. It is small, and
// lives for one command: it need not collect garbage before it has some. The start of the command waits on one
// processor for the supervisor on another, also where the machine has one.
var helperEnv = []string{"GOGC=off", "GOMEMLIMIT=64MiB", "GODEBUG=madvdontneed=1", "GOMAXPROCS=3"}

// socketpair returns two ends of a socket.
func socketpair(kind int) (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if kind == unix.SOCK_STREAM { // then closing it ends a read
		if err := unix.SetNonblock(fds[0], true); err != nil {
			closeAll(fds[:])
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "sandbox"), nil
}

// startHolder makes the namespaces of a session, whose own folder is dir.
func startHolder(dir string, copies []string, proxy bool) (*holder, error) {
	ours, theirs, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	h := &holder{socket: ours, copied: make(map[string]string), done: make(chan struct{})}
	job := wire.Holder{Proxy: proxy}
	if os.Geteuid() != 0 {
		job.IDs = &wire.IDs{User: os.Geteuid(), Group: os.Getegid()}
	}
	for i, lower := range copies {
		base := filepath.Join(dir, "copies", strconv.Itoa(i))
		o := wire.Overlay{Lower: lower, Upper: filepath.Join(base, "upper"), Work: filepath.Join(base, "work"), Merged: filepath.Join(base, "merged")}
		for _, d := range []string{o.Upper, o.Work, o.Merged} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				ours.Close()
				return nil, err
			}
		}
		job.Overlays = append(job.Overlays, o)
	}
	cmd := exec.Command("/proc/self/exe", wire.Arg, string(wire.RoleHolder))
	cmd.Args[0] = "worker"
	cmd.Env, cmd.Dir, cmd.ExtraFiles = helperEnv, "/", []*os.File{theirs}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = userNamespace()
	started := make(chan error)
	stop := make(chan struct{})
	go func() { // the parent-death signal comes when this thread ends
		runtime.LockOSThread()
		defer close(h.done)
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		<-stop
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		ours.Close()
		return nil, fmt.Errorf("making a user namespace: %w", err)
	}
	h.cmd, h.stop = cmd, sync.OnceFunc(func() { close(stop) })
	theirs.Close()
	var held wire.Held
	var fds []int
	if err = h.send(job, nil); err == nil {
		fds, err = h.receive(&held, holderTimeout)
	}
	if err == nil && held.Error != "" {
		err = errors.New(held.Error)
	}
	if err != nil {
		closeAll(fds)
		h.close()
		return nil, err
	}
	for i, ok := range held.Overlaid {
		if ok {
			h.copied[copies[i]] = job.Overlays[i].Merged
		}
	}
	if len(fds) == 1 {
		file := os.NewFile(uintptr(fds[0]), "proxy")
		h.proxy, err = net.FileListener(file)
		file.Close()
		if err != nil {
			h.close()
			return nil, err
		}
	}
	return h, nil
}

// userNamespace returns how a holder is started: root keeps all ids, anyone
// else has just their own, which the holder maps.
func userNamespace() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
		Pdeathsig:   unix.SIGKILL,
		Setsid:      true,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_KILL, unix.CAP_NET_ADMIN},
	}
	if os.Geteuid() == 0 {
		attr.UidMappings, attr.GidMappings = idMap("/proc/self/uid_map"), idMap("/proc/self/gid_map")
		attr.GidMappingsEnableSetgroups = true
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID)
	}
	return attr
}

// idMap maps the ids of this process's own namespace to themselves.
func idMap(file string) []syscall.SysProcIDMap {
	text, err := os.ReadFile(file)
	var out []syscall.SysProcIDMap
	for rest := string(text); err == nil && rest != ""; {
		var inside, outside, size int64
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err == nil {
			out = append(out, syscall.SysProcIDMap{ContainerID: int(inside), HostID: int(inside), Size: int(size)})
		}
	}
	if len(out) == 0 {
		out = []syscall.SysProcIDMap{{Size: 1}}
	}
	return out
}

// send sends a document with descriptors.
func (h *holder) send(document any, fds []int) error {
	body, err := wire.Pack(document)
	if err != nil {
		return err
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	socket := int(h.socket.Fd())
	if err := retry(func() error { return unix.Sendmsg(socket, body, oob, nil, unix.MSG_NOSIGNAL) }); err != nil {
		return fmt.Errorf("the sandbox has ended: %w", err)
	}
	return nil
}

// receive waits for a document and its descriptors.
func (h *holder) receive(document any, limit time.Duration) ([]int, error) {
	socket := int(h.socket.Fd())
	poll := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
	if err := retry(func() error { _, err := unix.Poll(poll, int(limit.Milliseconds())); return err }); err != nil {
		return nil, err
	}
	if poll[0].Revents == 0 {
		return nil, fmt.Errorf("the sandbox has not answered for %s", limit)
	}
	buf, oob := make([]byte, 16<<10), make([]byte, unix.CmsgSpace(4*4))
	var n, oobn int
	err := retry(func() (err error) {
		n, oobn, _, _, err = unix.Recvmsg(socket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("the sandbox has ended")
	}
	var got []int
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		if more, err := unix.ParseUnixRights(&messages[i]); err == nil {
			got = append(got, more...)
		}
	}
	return got, wire.Unpack(buf[:n], document)
}

// holderTimeout is how long the holder may take to start a process.
const holderTimeout = 30 * time.Second

// spawn starts an init. It returns its pidfd and the sockets to it.
func (h *holder) spawn(stdio [3]*os.File) (pidfd, socket, asks *os.File, err error) {
	ours, theirs, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, nil, err
	}
	defer theirs.Close()
	asks, asking, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		ours.Close()
		return nil, nil, nil, err
	}
	defer asking.Close()
	fds := make([]int, 0, 5)
	for _, f := range append(stdio[:], theirs, asking) {
		fds = append(fds, int(f.Fd()))
	}
	got, err := h.ask(fds, holderTimeout)
	runtime.KeepAlive(stdio)
	if err == nil && len(got) != 1 {
		err = errors.New("no process came")
	}
	if err != nil {
		closeAll(got)
		ours.Close()
		asks.Close()
		return nil, nil, nil, fmt.Errorf("starting a process in the sandbox: %w", err)
	}
	return os.NewFile(uintptr(got[0]), "pidfd"), ours, asks, nil
}

// ask asks for an init with these descriptors, and returns the descriptors of
// the answer. An answer to an earlier question, which took too long, is
// dropped.
func (h *holder) ask(fds []int, limit time.Duration) ([]int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.number++
	if err := h.send(wire.Spawn{Number: h.number}, fds); err != nil {
		return nil, err
	}
	for {
		var answer wire.Spawned
		got, err := h.receive(&answer, limit)
		switch {
		case err != nil:
			return got, err
		case answer.Number != h.number:
			closeAll(got)
		case answer.Error != "":
			return got, errors.New(answer.Error)
		default:
			return got, nil
		}
	}
}

// try runs a command in the smallest tree, to see that all parts work.
func (h *holder) try() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	pidfd, socket, asks, err := h.spawn([3]*os.File{null, null, null})
	if err != nil {
		return err
	}
	defer asks.Close()
	defer pidfd.Close()
	defer socket.Close()
	l := &layout{}
	l.system()
	l.mounts = append(l.mounts, wire.Mount{Op: wire.OpProc, Target: "/proc"}, wire.Mount{Op: wire.OpDev, Target: "/dev"})
	conn := wire.NewConn(socket)
	if err := conn.Write(wire.Job{Args: []string{"/bin/sh", "-c", ":"}, Dir: "/", Mounts: l.mounts}); err != nil {
		return err
	}
	for {
		var m wire.Message
		if err := conn.Read(&m); err != nil {
			return fmt.Errorf("trying a command: %w", err)
		}
		switch m.Kind {
		case wire.KindError:
			return errors.New(m.Error)
		case wire.KindExited:
			if m.Status != 0 {
				return fmt.Errorf("trying a command: status %d", m.Status)
			}
			return nil
		}
	}
}

// close ends all that runs in the namespaces, and waits for it.
func (h *holder) close() {
	h.stop()
	<-h.done
	h.socket.Close()
	if h.proxy != nil {
		h.proxy.Close()
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// retry repeats f while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

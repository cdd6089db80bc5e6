package helper

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// holder is process 1 of a session's sandbox. It starts an init for every
// command, and ends with the worker: then the kernel ends all below it.
func holder() error {
	// An init's parent-death signal comes when this thread ends.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	n, _, err := receive(buf)
	if err != nil {
		return err
	}
	var job wire.Holder
	if err := wire.Unpack(buf[:n], &job); err != nil {
		return err
	}
	if job.IDs != nil {
		if err := mapIDs(*job.IDs); err != nil {
			return fail(err)
		}
	}
	if err := closeMemory(); err != nil {
		return err
	}
	held, fds, err := hold(job)
	if err != nil {
		return fail(err)
	}
	err = send(held, fds)
	for _, fd := range fds {
		unix.Close(fd)
	}
	if err != nil {
		return err
	}
	for {
		n, fds, err := receive(buf)
		if n == 0 || err != nil {
			return err // the worker is gone
		}
		var question wire.Spawn
		if err := wire.Unpack(buf[:n], &question); err != nil {
			return err
		}
		pidfd, err := spawn(fds)
		for _, fd := range fds {
			unix.Close(fd)
		}
		if err != nil {
			err = send(wire.Spawned{Number: question.Number, Error: err.Error()}, nil)
		} else {
			err = send(wire.Spawned{Number: question.Number}, []int{pidfd})
			unix.Close(pidfd)
		}
		if err != nil {
			return err
		}
	}
}

// fail tells the worker why there is no holder.
func fail(why error) error { return send(wire.Held{Error: why.Error()}, nil) }

// mapIDs gives the user namespace its one user and its one group. This process
// does it for itself: the worker could not, since the files below /proc of one
// that nobody may trace belong to root.
func mapIDs(ids wire.IDs) error {
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"}, // else no group may be mapped
		{"uid_map", fmt.Sprintf("%d %d 1\n", ids.User, ids.User)},
		{"gid_map", fmt.Sprintf("%d %d 1\n", ids.Group, ids.Group)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("mapping the ids of a user namespace: %w", err)
		}
	}
	return nil
}

// hold makes what all commands of the session share.
func hold(job wire.Holder) (held wire.Held, fds []int, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return held, nil, fmt.Errorf("making mounts private: %w", err)
	}
	if err := loopback(); err != nil {
		return held, nil, fmt.Errorf("bringing loopback up: %w", err)
	}
	for _, o := range job.Overlays {
		err := overlay(o)
		held.Overlaid = append(held.Overlaid, err == nil)
	}
	// No user namespaces below this one: there a command would be root.
	_ = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	if job.Proxy {
		fd, err := listen()
		if err != nil {
			return held, nil, fmt.Errorf("listening on loopback: %w", err)
		}
		fds = append(fds, fd)
	}
	return held, fds, nil
}

// loopback brings the namespace's lo up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// listen returns a listener on loopback, which the worker accepts from.
func listen() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, err
	}
	return fd, unix.Listen(fd, 128)
}

// overlay mounts a copy on write, which the mount namespaces of the commands
// inherit: two mounts of the same upper folder would spoil each other.
func overlay(o wire.Overlay) error {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	for _, kv := range [][2]string{{"lowerdir", o.Lower}, {"upperdir", o.Upper}, {"workdir", o.Work}} {
		if err := unix.FsconfigSetString(fs, kv[0], kv[1]); err != nil {
			return err
		}
	}
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	m, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	defer unix.Close(m)
	return unix.MoveMount(m, "", unix.AT_FDCWD, o.Merged, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// spawn starts an init with the descriptors of a command.
func spawn(fds []int) (pidfd int, err error) {
	if len(fds) != 5 {
		return -1, fmt.Errorf("%d descriptors, want 5", len(fds))
	}
	files := make([]uintptr, 0, 5)
	for _, fd := range fds {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"worker", wire.Arg, string(wire.RoleInit)}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: files,
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
			AmbientCaps: ambient(),
			Pdeathsig:   unix.SIGKILL,
			Setsid:      true,
			PidFD:       &pidfd,
		},
	})
	if err != nil {
		return -1, err
	}
	go func() { // collects it; it ends with the holder at the latest
		_ = retry(func() error { _, err := unix.Wait4(pid, nil, 0, nil); return err })
	}()
	if pidfd < 0 {
		return -1, errors.New("the kernel gives no pidfd")
	}
	return pidfd, nil
}

// receive waits for a packet and its descriptors.
func receive(buf []byte) (n int, fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(8*4))
	var oobn int
	err = retry(func() (err error) {
		n, oobn, _, _, err = unix.Recvmsg(wire.SocketFD, buf, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, nil, err
	}
	for i := range messages {
		more, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return 0, nil, err
		}
		fds = append(fds, more...)
	}
	return n, fds, nil
}

// send sends a packet with descriptors.
func send(v any, fds []int) error {
	body, err := wire.Pack(v)
	if err != nil {
		return err
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return retry(func() error { return unix.Sendmsg(wire.SocketFD, body, oob, nil, 0) })
}

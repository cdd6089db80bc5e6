package helper

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// commandCaps are what a command keeps if it is run by root, for the files of
// other users. They only work on what the sandbox shows. A command of anyone
// else keeps none.
var commandCaps = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER,
	unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL,
}

// ambient are the capabilities that an init needs to build the sandbox.
func ambient() []uintptr {
	caps := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_KILL}
	if os.Geteuid() == 0 {
		caps = append(caps, commandCaps...)
	}
	return caps
}

// setCaps gives the calling thread the capabilities keep and no others.
func setCaps(keep []uintptr) error {
	var data [2]unix.CapUserData
	for _, c := range keep {
		data[c/32].Permitted |= 1 << (c % 32)
		data[c/32].Effective |= 1 << (c % 32)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&header, &data[0])
}

// dropCaps leaves the calling thread, and all that it starts, the capabilities
// of a command. It cannot be undone.
func dropCaps() error {
	var keep []uintptr
	if os.Geteuid() == 0 {
		keep = commandCaps
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		// EPERM: without CAP_SETPCAP there is nothing to gain anyway, since
		// no_new_privs keeps what is not there from being got.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL && err != unix.EPERM {
			return err
		}
	}
	return setCaps(permitted(keep))
}

// permitted returns those of caps that the calling thread has.
func permitted(caps []uintptr) []uintptr {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil
	}
	var out []uintptr
	for _, c := range caps {
		if data[c/32].Permitted&(1<<(c%32)) != 0 {
			out = append(out, c)
		}
	}
	return out
}

// setEffective has the calling thread use a capability that it may use, or not.
func setEffective(capability uintptr, on bool) error {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	bit := uint32(1) << (capability % 32)
	if data[capability/32].Effective &^= bit; on {
		data[capability/32].Effective |= bit & data[capability/32].Permitted
	}
	return unix.Capset(&header, &data[0])
}

// setLimit sets a resource limit of the calling process: all that it starts
// have it too.
func setLimit(resource int, value uint64) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(resource, &old); err != nil {
		return err
	}
	if value > old.Max {
		value = old.Max
	}
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

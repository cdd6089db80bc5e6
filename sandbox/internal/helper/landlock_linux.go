package helper

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockByABI are the rights that each version of Landlock knows, from 1.
var landlockByABI = []uint64{
	1<<13 - 1, // 1: up to make_sym
	ll.AccessFSRefer,
	ll.AccessFSTruncate,
	0, // 4: network
	ll.AccessFSIoctlDev,
}

const (
	landlockRead = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir

	// landlockFile are the rights that mean something for a file. The kernel
	// refuses the others there.
	landlockFile = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
)

// landlock is the second wall: it holds the calling thread, and all that it
// starts, to the folders read and write, whatever is mounted. Of a path that
// ends in "/." only names may be read.
//
// The package landlock of the same library restricts all threads, each in a
// domain of its own. A thread that supervises the command could then not read
// its memory.
func landlock(read, write []string) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	var attr ll.RulesetAttr
	for i, rights := range landlockByABI {
		if i < abi {
			attr.HandledAccessFS |= rights
		}
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	ruleset, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	for _, path := range read {
		if err := permit(ruleset, path, landlockRead&attr.HandledAccessFS); err != nil {
			return err
		}
	}
	for _, path := range write {
		if err := permit(ruleset, path, attr.HandledAccessFS); err != nil {
			return err
		}
	}
	return ll.LandlockRestrictSelf(ruleset, 0)
}

func permit(ruleset int, path string, rights uint64) error {
	if n := len(path); n > 2 && path[n-2:] == "/." || path == "/" {
		rights &= ll.AccessFSReadDir
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES:
		return nil // nothing to permit
	default:
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= landlockFile
	}
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}

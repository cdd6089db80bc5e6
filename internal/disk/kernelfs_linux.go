package disk

import (
	"os"
	"syscall"
)

// kernelTypes are the file systems whose files are made by the kernel when they
// are read, by the numbers of statfs(2).
var kernelTypes = map[uint32]string{
	0x00009FA0: "proc",
	0x62656572: "sysfs",
	0x64626720: "debugfs",
	0x74726163: "tracefs",
	0x73636673: "securityfs",
	0x62656570: "configfs",
	0x0027E0EB: "cgroup",
	0x63677270: "cgroup2",
	0xCAFE4A11: "bpf",
	0x6165676C: "pstore",
	0xDE5E81E4: "efivarfs",
	0xF97CFF8C: "selinuxfs",
	0x43415D53: "smackfs",
	0x42494E4D: "binfmt_misc",
	0x6E736673: "nsfs",
	0x19800202: "mqueue",
}

// kernelFS returns the kind of file system that file is on if its files are the
// kernel's; empty for any other.
func kernelFS(file *os.File) (kind string) {
	conn, err := file.SyscallConn()
	if err != nil {
		return ""
	}
	_ = conn.Control(func(fd uintptr) { // an error means that nothing is known
		var s syscall.Statfs_t
		if err := syscall.Fstatfs(int(fd), &s); err == nil {
			kind = kernelTypes[uint32(s.Type)]
		}
	})
	return kind
}

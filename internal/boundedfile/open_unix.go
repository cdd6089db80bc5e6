//go:build unix

package boundedfile

import "syscall"

const nonBlocking = syscall.O_NONBLOCK

//go:build !unix

package boundedfile

const nonBlocking = 0

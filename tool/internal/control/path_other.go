//go:build !unix

package control

// isNoFolder would report whether a path goes on below a file: here that is not there.
func isNoFolder(error) bool { return false }

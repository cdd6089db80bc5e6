//go:build !linux

package agentdefs

// networkFS is not known here.
func networkFS(string) string { return "" }

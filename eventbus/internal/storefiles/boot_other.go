//go:build !linux

package storefiles

// bootID tells one start of the machine from another; empty means it is not known.
func bootID() string { return "" }

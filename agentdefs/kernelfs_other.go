//go:build !linux

package agentdefs

import "os"

func kernelFS(*os.File) string { return "" }

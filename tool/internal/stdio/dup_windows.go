package stdio

import (
	"os"

	"golang.org/x/sys/windows"
)

// Duplicate returns a file of its own for what f has open.
func Duplicate(f *os.File) (*os.File, error) {
	own := windows.CurrentProcess()
	var handle windows.Handle
	if err := windows.DuplicateHandle(own, windows.Handle(f.Fd()), own, &handle, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	return os.NewFile(uintptr(handle), f.Name()), nil
}

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile is the size of the largest file that is read. The longest of several
// thousand real agent files has 127 KB.
const maxFile = 1 << 20

// Content is what a file holds, with its info from after it was read.
type Content struct {
	Data []byte
	Info fs.FileInfo
}

// ReadRegular reads the regular file at path.
func ReadRegular(path string) (Content, error) {
	// What has become a pipe since must not block.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Content{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Content{}, err
	}
	if !info.Mode().IsRegular() {
		return Content{}, ErrNotRegular
	}
	if kind := kernelFS(file); kind != "" {
		return Content{}, fmt.Errorf("it is not stored text but a file of the kernel (%s), which may block or change with each reading", kind)
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(file, maxFile+1)); err != nil {
		return Content{}, err
	}
	if data.Len() > maxFile {
		return Content{}, fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	info, err = file.Stat()
	return Content{data.Bytes(), info}, err
}

// ErrNotRegular is returned for a folder, a pipe, a device and the like.
var ErrNotRegular = errors.New("it is not a regular file")

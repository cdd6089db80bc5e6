package agentdefs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// disk is the file system as a scan sees it. No call takes longer than the
// guard allows, or than ctx lasts.
type disk struct {
	ctx      context.Context
	guard    *guard
	platform *platform
}

func (d *disk) lstat(path string) (fs.FileInfo, error) {
	return guarded(d, "lstat", path, func() (fs.FileInfo, error) { return d.platform.lstat(path) })
}

func (d *disk) stat(path string) (fs.FileInfo, error) {
	return guarded(d, "stat", path, func() (fs.FileInfo, error) { return d.platform.stat(path) })
}

func (d *disk) readlink(path string) (string, error) {
	return guarded(d, "readlink", path, func() (string, error) { return d.platform.readlink(path) })
}

func (d *disk) readDir(path string) ([]fs.DirEntry, error) {
	return guarded(d, "readdir", path, func() ([]fs.DirEntry, error) { return d.platform.readDir(path) })
}

func (d *disk) network(path string) (string, error) {
	return guarded(d, "statfs", path, func() (string, error) { return d.platform.network(path), nil })
}

// content is what a file holds, and its info from after it was read.
type content struct {
	data []byte
	info fs.FileInfo
}

func (d *disk) readFile(path string) (content, error) {
	return guarded(d, "read", path, func() (content, error) { return d.platform.readFile(path) })
}

// readRegular reads the regular file at path.
func readRegular(path string) (content, error) {
	// What has become a pipe since must not block.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return content{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return content{}, err
	}
	if !info.Mode().IsRegular() {
		return content{}, errNotRegular
	}
	if kind := kernelFS(file); kind != "" {
		return content{}, fmt.Errorf("it is no stored text but a file of the kernel (%s), which may block or change with each reading", kind)
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(file, maxFile+1)); err != nil {
		return content{}, err
	}
	if data.Len() > maxFile {
		return content{}, fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	info, err = file.Stat()
	return content{data.Bytes(), info}, err
}

var errNotRegular = errors.New("it is no regular file")

// nothingThere reports whether err says that a path leads to nothing, unlike
// one that leads to what can't be looked at.
func nothingThere(err error) bool {
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// advice is what to do about err of a file or folder; ordinary is said where
// the file system has answered.
func advice(err error, ordinary string) string {
	if _, held := errors.AsType[*heldUpError](err); held {
		return "check the disk, mount or network that it is on, or remove it from the folder; it is read once the file system answers"
	}
	return ordinary
}

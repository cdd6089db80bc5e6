package disk

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// Disk reads the file system for one scan. Every call ends within the timeout of
// its [Limiter], or when its context does.
type Disk struct {
	ctx     context.Context
	limiter *Limiter
	system  *System
}

// New returns a Disk whose calls end with ctx. sys is complete.
func New(ctx context.Context, limiter *Limiter, sys *System) *Disk {
	return &Disk{ctx, limiter, sys}
}

// Err returns the error of the context.
func (d *Disk) Err() error { return d.ctx.Err() }

// Lstat is [os.Lstat].
func (d *Disk) Lstat(path string) (fs.FileInfo, error) {
	return Within(d, "lstat", path, func() (fs.FileInfo, error) { return d.system.Lstat(path) })
}

// Stat is [os.Stat].
func (d *Disk) Stat(path string) (fs.FileInfo, error) {
	return Within(d, "stat", path, func() (fs.FileInfo, error) { return d.system.Stat(path) })
}

// Readlink is [os.Readlink].
func (d *Disk) Readlink(path string) (string, error) {
	return Within(d, "readlink", path, func() (string, error) { return d.system.Readlink(path) })
}

// ReadDir is [os.ReadDir].
func (d *Disk) ReadDir(path string) ([]fs.DirEntry, error) {
	return Within(d, "readdir", path, func() ([]fs.DirEntry, error) { return d.system.ReadDir(path) })
}

// Network returns the kind of network file system that dir is on; empty means it is
// local, or that is not known.
func (d *Disk) Network(dir string) (string, error) {
	return Within(d, "statfs", dir, func() (string, error) { return d.system.Network(dir), nil })
}

// IsFolder reports whether path leads to a folder; an error means that this is
// not known.
func (d *Disk) IsFolder(path string) (bool, error) {
	info, err := d.Stat(path)
	switch {
	case err == nil:
		return info.IsDir(), nil
	case NotThere(err):
		return false, nil
	}
	return false, err
}

// Exists reports whether there is something at path.
func (d *Disk) Exists(path string) bool {
	_, err := d.Lstat(path)
	return err == nil
}

// SameFolder reports whether a and b lead to the same folder.
func (d *Disk) SameFolder(a, b string) bool {
	one, err := d.Stat(a)
	if err != nil {
		return false
	}
	other, err := d.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// ReadFile is [ReadRegular].
func (d *Disk) ReadFile(path string) (Content, error) {
	return Within(d, "read", path, func() (Content, error) { return d.system.ReadFile(path) })
}

// Within returns what f returns. If f takes too long, it returns a
// [TimeoutError]; if the context of d ends before, its error. If the same call
// is running already, it is waited for instead.
func Within[T any](d *Disk, kind, path string, f func() (T, error)) (T, error) {
	var zero T
	l, key := d.limiter, callKey{kind, path}
	c, own, timeout := l.begin(key)
	if c == nil {
		return zero, &TimeoutError{After: l.timeout}
	}
	if own {
		value := new(T)
		c.value = value
		go func() {
			*value, c.err = f()
			l.end(key, c)
		}()
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-d.ctx.Done():
		return zero, d.ctx.Err()
	case <-timer.C:
		if l.abandon(key, c) {
			return zero, &TimeoutError{After: l.timeout, Made: own}
		}
	}
	return *c.value.(*T), c.err
}

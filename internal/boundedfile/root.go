package boundedfile

import (
	"fmt"
	"io"
	"os"
)

// ReadIn is [Read] of a file in a folder: no link leads out of that.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %s", name, size(most))
	}
	return data, err
}

// OpenIn is [Open] of a file in a folder: no link leads out of that.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	if err := regular(name)(root.Stat(name)); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	if err := regular(name)(f.Stat()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// regular returns a check that a look at a file has found a regular one.
func regular(name string) func(info os.FileInfo, err error) error {
	return func(info os.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", name)
		}
		return err
	}
}

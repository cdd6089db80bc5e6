// Package boundedfile reads files that may be a stranger's: a pipe does not make the
// reader wait, a device is not opened, and the size has a bound.
package boundedfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns the content of a regular file of at most most bytes. The error of another
// one names the file.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %s", path, size(most))
	}
	return data, err
}

// Open opens a regular file to read it.
func Open(path string) (*os.File, error) {
	if err := regular(path)(os.Stat(path)); err != nil { // opening some devices does something
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	if err := regular(path)(f.Stat()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

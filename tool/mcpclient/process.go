package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// messages reads the lines of a program's stdout that can be messages. Other lines, which
// some servers write there, are kept with what it writes to stderr.
type messages struct {
	r     *bufio.Reader
	file  *os.File
	other io.Writer
	rest  []byte
}

// maxLine bounds a line that a server writes, in bytes.
const maxLine = 16 << 20

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if start := bytes.TrimLeft(line, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			m.rest = line
		} else if len(start) > 0 {
			_, _ = m.other.Write(line)
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line of at most maxLine bytes.
func (m *messages) line() (line []byte, err error) {
	for {
		part, err := m.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("it wrote a line of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return line, err
	}
}

// Close implements [io.Closer].
func (m *messages) Close() error { return m.file.Close() }

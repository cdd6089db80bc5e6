// Package gitindex tells which files git tracks, without running git: whoever
// decides about a command must not run programs of the workspace.
package gitindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/boundedfile"
)

// Bounds of the index of a repository that is looked at.
const (
	maxBytes   = 32 << 20
	maxFiles   = 15_000
	maxPath    = 4096 // bytes of a path, as kernels bound it
	maxGitFile = 4096 // bytes of a .git that is a file
)

var errIndex = errors.New("a git index that cannot be read")

// Files returns the paths of the files that git tracks in the repository
// of the folder dir, and its top folder; none outside a repository. An
// error: it cannot be told.
func Files(dir string) (top string, files []string, err error) {
	top, data, _, err := read(dir)
	if err != nil || data == nil {
		return top, nil, err
	}
	err = parseIndex(data, maxFiles, func(path string, _ []byte) { files = append(files, path) })
	return top, files, err
}

// Stat is what the index notes of a file.
type Stat struct {
	Modified   time.Time // in seconds and nanoseconds
	Size       int64
	Executable bool

	// Racy says that the file was noted in the second in which the index was written. Git
	// compares its content, whatever the rest says.
	Racy bool
}

// Stats calls each with what the index of the repository of the folder dir notes of a regular
// file, and its absolute path.
func Stats(dir string, each func(path string, s Stat)) error {
	top, data, written, err := read(dir)
	if err != nil || data == nil {
		return err
	}
	return parseIndex(data, len(data), func(path string, entry []byte) {
		mode := binary.BigEndian.Uint32(entry[24:])
		if mode&0o170000 != 0o100000 || !filepath.IsLocal(path) {
			return
		}
		modified := time.Unix(int64(binary.BigEndian.Uint32(entry[8:])), int64(binary.BigEndian.Uint32(entry[12:])))
		each(filepath.Join(top, filepath.FromSlash(path)), Stat{modified, int64(binary.BigEndian.Uint32(entry[36:])), mode&0o100 != 0, modified.Unix() >= written.Unix()})
	})
}

// read returns the index of the repository of the folder dir, its top folder, and when the index
// was written. data is nil where there is no index.
func read(dir string) (top string, data []byte, written time.Time, err error) {
	top, gitDir, err := gitFolder(dir)
	if err != nil || gitDir == "" {
		return "", nil, written, err
	}
	f, err := boundedfile.Open(filepath.Join(gitDir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return top, nil, written, nil
	}
	if err != nil {
		return "", nil, written, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, written, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil || len(data) > maxBytes {
		return "", nil, written, errors.Join(errIndex, err)
	}
	return top, data, info.ModTime(), nil
}

// gitFolder returns the nearest folder at or above dir that is a work tree of
// git, and where its repository is. It finds the repository that git would use,
// and passes over a .git that git passes over. The search of internal/workspace
// takes any .git as the edge of the workspace, and an error ends it: a workspace
// must not grow by a .git that can't be read.
func gitFolder(dir string) (top, gitDir string, err error) {
	for {
		gitDir = filepath.Join(dir, ".git")
		info, err := os.Stat(gitDir)
		switch {
		case err == nil && info.IsDir():
			return dir, gitDir, nil
		case err == nil && info.Size() < maxGitFile: // of a worktree or a submodule
			data, err := boundedfile.Read(gitDir, maxGitFile)
			to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			if err != nil || !ok {
				return "", "", errors.Join(errIndex, err)
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(dir, to)
			}
			return dir, to, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", "", nil
		}
		dir = above
	}
}

// parseIndex calls each with the path and the entry of each file in an index. The index has
// version 2 to 4, hashes of SHA-1, and at most so many files. Its form is that of git's
// Documentation/gitformat-index.
//
// go-git's reader does not do. It bounds neither the number of entries nor the
// length of a path: a hostile index of 230 KB takes 200 MB. It also refuses an
// index without a checksum (git's index.skipHash).
func parseIndex(data []byte, most int, each func(path string, entry []byte)) error {
	const fixed = 62 // bytes of an entry before its path
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || int(count) > most {
		return errIndex
	}
	rest := data[12:]
	previous := ""
	for range count {
		size := fixed
		if len(rest) >= fixed && rest[60]&0x40 != 0 { // more flags follow
			size += 2
		}
		if len(rest) <= size {
			return errIndex
		}
		path := rest[size:]
		prefix := ""
		if version == 4 {
			drop, n := indexOffset(path)
			if n == 0 || drop > len(previous) {
				return errIndex
			}
			prefix, path, size = previous[:len(previous)-drop], path[n:], size+n
		}
		end := bytes.IndexByte(path, 0)
		if end < 0 || len(prefix)+end > maxPath {
			return errIndex
		}
		previous = prefix + string(path[:end])
		if length := int(binary.BigEndian.Uint16(rest[60:]) & 0xFFF); length != min(len(previous), 0xFFF) {
			return errIndex // with hashes of another length
		}
		each(previous, rest[:fixed])
		size += end + 1
		if version < 4 {
			size = (size + 7) &^ 7 // entries are padded to 8 bytes
		}
		if size > len(rest) {
			return errIndex
		}
		rest = rest[size:]
	}
	if bytes.HasPrefix(rest, []byte("link")) || bytes.HasPrefix(rest, []byte("sdir")) { // the rest is elsewhere
		return errIndex
	}
	return nil
}

// indexOffset reads a number of variable length, and how many bytes it has; 0 means
// it has no end.
func indexOffset(b []byte) (value, n int) {
	for n < len(b) && n < 4 {
		c := b[n]
		n++
		if value |= int(c & 0x7F); c&0x80 == 0 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}

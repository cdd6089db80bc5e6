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
	top, gitDir, err := gitFolder(dir)
	if err != nil || gitDir == "" {
		return "", nil, err
	}
	f, err := os.Open(filepath.Join(gitDir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return top, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil || len(data) > maxBytes {
		return "", nil, errors.Join(errIndex, err)
	}
	files, err = parseIndex(data)
	return top, files, err
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
			data, err := os.ReadFile(gitDir)
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

// parseIndex returns the paths in an index of version 2 to 4 with SHA-1, as
// git's Documentation/gitformat-index describes it.
//
// go-git's reader does not do. It bounds neither the number of entries nor the
// length of a path: a hostile index of 230 KB takes 200 MB. It also refuses an
// index without a checksum (git's index.skipHash).
func parseIndex(data []byte) ([]string, error) {
	const fixed = 62 // bytes of an entry before its path
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || count > maxFiles {
		return nil, errIndex
	}
	rest := data[12:]
	files := make([]string, 0, count)
	previous := ""
	for range count {
		size := fixed
		if len(rest) >= fixed && rest[60]&0x40 != 0 { // more flags follow
			size += 2
		}
		if len(rest) <= size {
			return nil, errIndex
		}
		path := rest[size:]
		prefix := ""
		if version == 4 {
			drop, n := indexOffset(path)
			if n == 0 || drop > len(previous) {
				return nil, errIndex
			}
			prefix, path, size = previous[:len(previous)-drop], path[n:], size+n
		}
		end := bytes.IndexByte(path, 0)
		if end < 0 || len(prefix)+end > maxPath {
			return nil, errIndex
		}
		previous = prefix + string(path[:end])
		if length := int(binary.BigEndian.Uint16(rest[60:]) & 0xFFF); length != min(len(previous), 0xFFF) {
			return nil, errIndex // with hashes of another length
		}
		files = append(files, previous)
		size += end + 1
		if version < 4 {
			size = (size + 7) &^ 7 // entries are padded to 8 bytes
		}
		if size > len(rest) {
			return nil, errIndex
		}
		rest = rest[size:]
	}
	if bytes.HasPrefix(rest, []byte("link")) || bytes.HasPrefix(rest, []byte("sdir")) { // the rest is elsewhere
		return nil, errIndex
	}
	return files, nil
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

package storefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/agentworker/worker/internal/fileinfo"
)

const (
	ledgerFile = "blocks.json"
	streamsDir = "jetstream/$G/streams" // below the folder of the store; $G is the one account
	blocksDir  = "msgs"                 // of a stream
	metaFile   = "meta.inf"             // of a stream: its description
	metaSum    = "meta.sum"             // and the checksum of that
	indexFile  = "index.db"             // of a stream, in the folder of its blocks; the server makes it anew
	purgeDir   = "__new_msgs__"         // of a stream whose blocks are about to be replaced
)

// streamNames returns the streams that have a folder.
func streamNames(root fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(root, streamsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // the server has begun to remove that
			names = append(names, e.Name())
		}
	}
	return names, err
}

// blocksOf returns the blocks that a stream has.
func blocksOf(root fs.FS, name string) (map[string]fileState, error) {
	return blocksIn(root, path.Join(streamsDir, name, blocksDir))
}

// blocksIn returns the blocks in a folder.
func blocksIn(root fs.FS, dir string) (map[string]fileState, error) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	blocks := make(map[string]fileState)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), blockSuffix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "read", Path: path.Join(dir, e.Name()), Err: errors.New("it is not a file")}
		}
		blocks[e.Name()] = stateOf(info)
	}
	return blocks, nil
}

// lastBlock returns the last block of some; empty means there are none.
func lastBlock(blocks map[string]fileState) (last string) {
	for file := range blocks {
		if last == "" || blockNumber(file) > blockNumber(last) {
			last = file
		}
	}
	return last
}

// description returns the description of a stream, if it is intact.
func description(root fs.FS, name string) (meta, sum []byte, intact bool) {
	meta, err := fs.ReadFile(root, path.Join(streamsDir, name, metaFile))
	if err == nil {
		sum, err = fs.ReadFile(root, path.Join(streamsDir, name, metaSum))
	}
	return meta, sum, err == nil && describes(name, meta, sum)
}

// describes reports whether meta, with its checksum, describes the stream.
func describes(name string, meta, sum []byte) bool {
	h := hashOf(name)
	h.Write(meta)
	return bytes.Equal(fmt.Appendf(nil, "%x", h.Sum(nil)), sum)
}

func byNumber(a, b string) int { return blockNumber(a) - blockNumber(b) }

// openState returns the state of an open file.
func openState(f *os.File) (fileState, error) {
	info, err := f.Stat()
	if err != nil {
		return fileState{}, err
	}
	s := stateOf(info)
	s.ID = fileinfo.ID(f)
	return s, nil
}

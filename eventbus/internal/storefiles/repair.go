package storefiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
)

// repair does what the server's own recovery lacks. A damaged block ends at the first place
// that is no record: the server keeps as much of it, but can't tell where the headers of a
// garbled message end. The index of the stream goes, because the server believes it and
// reads no block. A record with the last number is added, because the server would give
// out numbers again. The description of the stream is put back, because the server leaves
// out a stream without one.
func (c *check) repair(dir string) error {
	folder := filepath.Join(dir, filepath.FromSlash(streamsDir), c.name)
	blocks := filepath.Join(folder, blocksDir)
	if err := os.MkdirAll(blocks, 0o700); err != nil {
		return err
	}
	if len(c.found) > 0 || len(c.causes) > 0 {
		for file := range c.causes {
			if b := c.parsed[file]; b != nil && b.bad {
				if err := os.Truncate(filepath.Join(blocks, file), int64(b.end)); err != nil {
					return err
				}
			}
		}
		if c.was.Last > c.top {
			if err := c.skip(blocks); err != nil {
				return err
			}
		}
		if err := remove(blocks, indexFile); err != nil {
			return err
		}
	}
	if !c.meta {
		return nil
	}
	if c.was.Meta == nil { // whoever uses the stream makes it anew
		return remove(folder, metaFile, metaSum)
	}
	return errors.Join(atomicfile.Write(filepath.Join(folder, metaFile), c.was.Meta, 0o600), atomicfile.Write(filepath.Join(folder, metaSum), c.was.Sum, 0o600))
}

// remove removes files of a folder that may be missing.
func remove(folder string, files ...string) error {
	for _, file := range files {
		if err := os.Remove(filepath.Join(folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// skip has the server continue after the last sequence number, so that no number is used
// twice. It writes a block of its own, like the server when the last message is deleted. In a
// block with messages the record would have no effect.
func (c *check) skip(blocks string) error {
	at := c.at
	if at.IsZero() {
		at = time.Now()
	}
	number := 1 + max(blockNumber(lastBlock(c.blocks)), blockNumber(lastBlock(c.was.Blocks)))
	return atomicfile.Write(filepath.Join(blocks, strconv.Itoa(number)+blockSuffix), deleted(c.was.Last, at, checksums(c.name, number)), 0o600)
}

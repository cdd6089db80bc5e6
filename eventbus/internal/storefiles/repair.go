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

// DamagedDir is the folder, below that of the store, with the files that were
// repaired, as they were found. Nothing reads them.
const DamagedDir = "damaged"

// repair makes the files of the stream such that the server reads all that is
// intact, and goes on behind the last sequence number that was ever given. kept is
// where the originals are; empty means nothing was replaced.
func (c *check) repair(dir string) (kept string, err error) {
	folder := filepath.Join(dir, filepath.FromSlash(streamsDir), c.name)
	blocks := filepath.Join(folder, blocksDir)
	if err := os.MkdirAll(blocks, 0o700); err != nil {
		return "", err
	}
	save := func(path string) error {
		if kept == "" {
			kept = filepath.Join(dir, DamagedDir, c.name+"-"+time.Now().UTC().Format("20060102T150405.000"))
		}
		if err := os.MkdirAll(kept, 0o700); err != nil {
			return err
		}
		err := os.Rename(path, filepath.Join(kept, filepath.Base(path)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	changed := len(c.found) > 0
	for file, b := range c.parsed {
		path := filepath.Join(blocks, file)
		switch {
		case len(b.bad) == 0:
			continue
		case len(b.bad) == 1 && b.bad[0].tail && c.causes[file] == "": // the rest of a write
			err = os.Truncate(path, int64(b.end))
		default:
			changed = true
			if err = save(path); err == nil {
				err = atomicfile.Write(path, b.good, 0o600)
			}
		}
		if err != nil {
			return kept, err
		}
	}
	if changed && c.was.Last > c.top {
		if err := c.skip(blocks); err != nil {
			return kept, err
		}
	}
	if changed {
		if err := os.Remove(filepath.Join(blocks, indexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, err
		}
	}
	if c.meta {
		for _, file := range []string{metaFile, metaSum} {
			if err := save(filepath.Join(folder, file)); err != nil {
				return kept, err
			}
		}
		if c.was.Meta != nil {
			return kept, errors.Join(atomicfile.Write(filepath.Join(folder, metaFile), c.was.Meta, 0o600), atomicfile.Write(filepath.Join(folder, metaSum), c.was.Sum, 0o600))
		}
	}
	return kept, nil
}

// skip has the server go on behind the last sequence number: what others have seen
// of the stream keeps its number. A block of its own says so, as the server writes one
// when the last message is deleted: beside messages in a block it would say nothing.
func (c *check) skip(blocks string) error {
	at := c.at
	if at.IsZero() {
		at = time.Now()
	}
	number := 1 + max(blockNumber(lastBlock(c.blocks)), blockNumber(lastBlock(c.was.Blocks)))
	return atomicfile.Write(filepath.Join(blocks, strconv.Itoa(number)+blockSuffix), deleted(c.was.Last, at, checksums(c.name, number)), 0o600)
}

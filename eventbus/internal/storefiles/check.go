package storefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Check compares the files of the store in dir, which no server has open, with what was
// written down of them. What is missing it adds to [Losses], and what is garbled it repairs
// in place: no copy is kept. After an error of reading the store is unchanged.
//
// Files that have not changed since are read only if all is true, or where nothing was
// written down. What changes by itself on a disk has neither another size nor time.
func Check(dir string, all bool, log *slog.Logger) error {
	root := os.DirFS(dir)
	var known *ledger
	data, err := os.ReadFile(filepath.Join(dir, ledgerFile))
	switch {
	case err == nil:
		known = decodeLedger(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if known == nil {
		known = &ledger{Boot: bootID()}
	}
	names, err := streamNames(root)
	if err != nil {
		return err
	}
	names = append(names, slices.Collect(maps.Keys(known.Streams))...)
	slices.Sort(names)
	var losses []Loss
	var damaged []*check
	for _, name := range slices.Compact(names) {
		c, err := checkStream(root, name, known, all)
		if err != nil {
			return fmt.Errorf("checking the stream %s: %w", name, err)
		}
		if c.meta || len(c.causes) > 0 || len(c.found) > 0 || len(c.torn) > 0 {
			damaged = append(damaged, c)
		}
		losses = append(losses, c.found...)
	}
	if len(losses) > 0 {
		if err := addLosses(dir, losses); err != nil {
			return err
		}
	}
	for _, c := range damaged {
		if err := c.repair(dir); err != nil {
			return fmt.Errorf("repairing the stream %s: %w", c.name, err)
		}
		c.report(log)
	}
	if err := os.Remove(filepath.Join(dir, ledgerFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// report logs what is no loss for certain.
func (c *check) report(log *slog.Logger) {
	if c.meta {
		log.Warn("the description of a stream in the event store was damaged, and is made anew; no message is lost by that", "stream", c.name, "file", metaFile)
	}
	if len(c.found) == 0 {
		for file, cause := range c.causes {
			log.Warn("a file of the event store "+cause+"; no message is known to be lost by that", "stream", c.name, "file", file)
		}
	}
	for _, file := range c.torn {
		log.Warn("a file of the event store ends in the middle of a message: the process was killed while it wrote that, or the file was cut off since", "stream", c.name, "file", file)
	}
}

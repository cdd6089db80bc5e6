package storefiles

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"time"
)

// keepInterval is how often a Keeper looks at the files: one stat for each stream,
// and one for the block that is written.
const keepInterval = time.Second

// Keeper writes down what files an open store has, about once a second where they
// change, so that the next [Check] finds what is missing.
type Keeper struct {
	root   *os.Root // the store may be moved away
	file   *os.File
	ranges func() (map[string]Range, error)
	log    *slog.Logger
	ledger ledger
	dirs   map[string]int64 // when the folder of a stream's blocks was modified, in ns of Unix time
	metas  map[string]int64 // the same for its description
	wrote  []byte
	cancel context.CancelFunc
	done   chan struct{}
}

// Keep begins to record the files of the store in dir. ranges returns the streams of
// the server that runs it. The caller closes the Keeper.
func Keep(dir string, ranges func() (map[string]Range, error), log *slog.Logger) (*Keeper, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// It is written in place: a folder that is being removed gets no new files.
	file, err := root.OpenFile(ledgerFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{
		root: root, file: file, ranges: ranges, log: log, cancel: cancel, done: make(chan struct{}),
		ledger: ledger{Boot: bootID(), Streams: make(map[string]*stream)}, dirs: make(map[string]int64), metas: make(map[string]int64),
	}
	go k.run(ctx)
	return k, nil
}

func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for {
		if err := k.look(); err != nil {
			k.log.Debug("the files of the event store could not be written down", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Stop ends the writing. Call it before the server stops.
func (k *Keeper) Stop() {
	k.cancel()
	<-k.done
}

// Close records the files of the store after its server has stopped. last are the
// streams it had. If last is nil, because reading them failed, the store is not marked
// as closed.
func (k *Keeper) Close(last map[string]Range) error {
	k.Stop()
	var err error
	if last != nil {
		k.ledger.Closed = true
		clear(k.dirs)
		k.ranges = func() (map[string]Range, error) { return last, nil }
		err = k.look()
	}
	return errors.Join(err, k.file.Close(), k.root.Close())
}

// look writes down what has changed.
func (k *Keeper) look() error {
	files := k.root.FS()
	ranges, err := k.ranges()
	if err != nil {
		return err
	}
	for name, r := range ranges {
		s := k.ledger.Streams[name]
		if s == nil {
			s = &stream{}
			k.ledger.Streams[name] = s
		}
		s.Range = r
		dir, err := fs.Stat(files, path.Join(streamsDir, name, blocksDir))
		if errors.Is(err, fs.ErrNotExist) { // in memory, or about to be purged
			continue
		}
		if err != nil {
			return err
		}
		if at := dir.ModTime().UnixNano(); k.dirs[name] != at {
			k.dirs[name] = at
			if s.Blocks, err = blocksOf(files, name); err != nil {
				return err
			}
		} else if err := s.grow(files, name); err != nil {
			return err
		}
		info, err := fs.Stat(files, path.Join(streamsDir, name, metaFile))
		if err != nil || info.ModTime().UnixNano() == k.metas[name] {
			continue // an error: it is written anew when the stream is changed
		}
		if meta, sum, intact := description(files, name); intact {
			s.Meta, s.Sum = meta, sum
			k.metas[name] = info.ModTime().UnixNano()
		}
	}
	for name := range k.ledger.Streams {
		if _, there := ranges[name]; !there {
			delete(k.ledger.Streams, name)
		}
	}
	data, err := k.ledger.encode()
	if err != nil || bytes.Equal(data, k.wrote) {
		return err
	}
	if _, err := k.file.WriteAt(data, 0); err != nil {
		return err
	}
	k.wrote = data
	return k.file.Truncate(int64(len(data)))
}

// grow looks at the block that is written: the last one.
func (s *stream) grow(files fs.FS, name string) error {
	last := lastBlock(s.Blocks)
	if last == "" {
		return nil
	}
	info, err := fs.Stat(files, path.Join(streamsDir, name, blocksDir, last))
	if errors.Is(err, fs.ErrNotExist) { // the next look finds it
		return nil
	}
	if err == nil {
		s.Blocks[last] = fileState{info.Size(), info.ModTime().UnixNano()}
	}
	return err
}

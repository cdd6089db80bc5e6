package storefiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// keepInterval is how often a Keeper looks at the files.
	keepInterval = time.Second

	// maxStats is how many blocks of a stream are looked at each time, in turn, if their
	// folder has not changed. That covers 2 GB of a stream in a second, and takes about a
	// millisecond.
	maxStats = 256

	// judgements is how many must find the same damage. Meanwhile the server may have
	// done everything that one look can mistake.
	judgements = 3

	// maxMissing is how many ranges of missing messages are written down for a block. The
	// last one has what is left.
	maxMissing = 100
)

// Keeper records the files of an open store about once a second, so that the next [Check]
// finds what is missing. It tells damage from changes by the server. For a damaged file it
// keeps the earlier record.
type Keeper struct {
	root    *os.Root // the store may be moved away
	file    *os.File
	server  Server
	log     *slog.Logger
	damaged func(error)
	once    sync.Once // for damaged
	ledger  ledger
	seen    map[string]*seen
	changed bool   // the ledger, since it was written
	closing bool   // the server has stopped
	buf     []byte // see [Keeper.readFrom]
	cancel  context.CancelFunc
	done    chan struct{}
}

// Keep begins to record the files of the store in dir, which server has open. It calls
// damaged once, from a goroutine of its own, when the store must be opened anew because
// its files were damaged: then [Check] finds what is lost. The caller closes the Keeper.
func Keep(dir string, server Server, damaged func(error), log *slog.Logger) (*Keeper, error) {
	k, err := newKeeper(dir, server, damaged, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go k.run(ctx)
	return k, nil
}

// newKeeper returns a Keeper that does not look by itself.
func newKeeper(dir string, server Server, damaged func(error), log *slog.Logger) (*Keeper, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// It is written in place: a folder that is being removed gets no new files.
	file, err := root.OpenFile(ledgerFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Keeper{
		root: root, file: file, server: server, log: log, damaged: damaged, done: make(chan struct{}),
		ledger: ledger{Boot: bootID(), Streams: make(map[string]*stream)}, seen: make(map[string]*seen),
	}, nil
}

func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for running := true; ; {
		if err := k.look(); err != nil {
			k.log.Debug("the files of the event store could not be written down", "err", err)
		}
		if !running {
			return
		}
		select {
		case <-ctx.Done():
			running = false // what was done since the last look the server can still explain
		case <-ticker.C:
		}
	}
}

// Stop looks a last time. Call it before the server stops.
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
		k.ledger.Closed, k.closing, k.changed = true, true, true
		for _, s := range k.seen {
			s.dir = time.Time{}
		}
		k.server = stopped(last)
		err = k.look()
	}
	return errors.Join(err, k.file.Close(), k.root.Close())
}

// stopped is a server that has stopped: the streams it had.
type stopped map[string]Range

func (s stopped) Streams() (map[string]Range, error) { return s, nil }

func (s stopped) Messages(string) (*Messages, error) {
	return nil, errors.New("the server has stopped")
}

// look writes down what has changed.
func (k *Keeper) look() error {
	ranges, err := k.server.Streams()
	if err != nil {
		return err
	}
	var failed error
	for name, r := range ranges {
		if k.ledger.Streams[name] == nil {
			k.ledger.Streams[name], k.seen[name] = &stream{}, &seen{}
			k.changed = true
		}
		if err := k.lookAt(name, r); err != nil { // the others are written down
			failed = errors.Join(failed, fmt.Errorf("the stream %s: %w", name, err))
		}
	}
	for name := range k.ledger.Streams {
		if _, there := ranges[name]; !there {
			delete(k.ledger.Streams, name)
			delete(k.seen, name)
			k.changed = true
		}
	}
	return errors.Join(failed, k.write())
}

func (k *Keeper) write() error {
	if !k.changed {
		return nil
	}
	data, err := k.ledger.encode()
	if err != nil {
		return err
	}
	if _, err := k.file.WriteAt(data, 0); err != nil {
		return err
	}
	k.changed = false
	return k.file.Truncate(int64(len(data)))
}

// lookAt looks at the files of a stream, which has the messages r.
func (k *Keeper) lookAt(name string, r Range) error {
	s := k.ledger.Streams[name]
	dir, err := k.root.OpenRoot(path.Join(streamsDir, name, blocksDir))
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Blocks) == 0: // in memory, or about to be made
		k.grow(s, r)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return k.gone(name, r)
	case err != nil:
		return err
	}
	defer dir.Close()
	suspects, err := k.changes(name, dir)
	if err == nil && len(suspects) > 0 {
		err = k.try(name, r, suspects)
	}
	if err != nil {
		k.seen[name].dir = time.Time{} // all of it is looked at anew
		return err
	}
	k.grow(s, r)
	return k.describe(name)
}

// grow notes what messages the stream has. Of a damaged one the server may have forgotten
// some.
func (k *Keeper) grow(s *stream, r Range) {
	if len(s.Damaged) > 0 {
		r = Range{s.First, max(s.Last, r.Last)}
	}
	k.changed = k.changed || r != s.Range
	s.Range = r
}

// describe notes the description of a stream, if it has changed.
func (k *Keeper) describe(name string) error {
	s, files := k.ledger.Streams[name], k.root.FS()
	info, err := fs.Stat(files, path.Join(streamsDir, name, metaFile))
	if err != nil || info.ModTime().UnixNano() == k.seen[name].meta {
		return nil // an error: it is written anew when the stream is changed
	}
	if meta, sum, intact := description(files, name); intact {
		s.Meta, s.Sum = meta, sum
		k.seen[name].meta = info.ModTime().UnixNano()
		k.changed = true
	}
	return nil
}

// gone looks after a stream whose blocks have no folder. The server is without one for a
// moment while it purges the stream or deletes it, and answers when it has done so.
func (k *Keeper) gone(name string, r Range) error {
	for range judgements {
		ranges, err := k.server.Streams()
		if err != nil {
			return err
		}
		if _, there := ranges[name]; !there {
			return nil
		}
		for _, dir := range []string{blocksDir, purgeDir} { // the new folder has the other name, until it is put in place
			if _, err := k.root.Stat(path.Join(streamsDir, name, dir)); !errors.Is(err, fs.ErrNotExist) {
				return err // the next look finds what there is
			}
		}
	}
	s := k.ledger.Streams[name]
	found := make(map[string]damage)
	for file := range s.Blocks {
		found[file] = damage{Cause: "was removed"}
	}
	k.damage(name, found)
	k.grow(s, r)
	return nil
}

// damage notes what happened to blocks, which stay in the ledger as they were.
func (k *Keeper) damage(name string, found map[string]damage) {
	s := k.ledger.Streams[name]
	var told []string
	for _, file := range slices.SortedFunc(maps.Keys(found), byNumber) {
		if _, known := s.Damaged[file]; known {
			continue
		}
		if s.Damaged == nil {
			s.Damaged = make(map[string]damage)
		}
		d := found[file]
		d.Cause += " while the store was open"
		if n := len(d.Missing); n > maxMissing {
			d.Missing[maxMissing-1].Last = d.Missing[n-1].Last
			d.Missing = d.Missing[:maxMissing]
		}
		s.Damaged[file] = d
		k.changed = true
		told = append(told, file+" "+d.Cause)
	}
	switch {
	case len(told) == 0:
		return
	case len(told) > 3:
		told = append(told[:3], fmt.Sprintf("and %d more", len(told)-3))
	}
	err := fmt.Errorf("%s: %s", path.Join(name, blocksDir), strings.Join(told, ", "))
	k.log.Error("files of the event store are damaged", "err", err)
	k.once.Do(func() { k.damaged(err) })
}

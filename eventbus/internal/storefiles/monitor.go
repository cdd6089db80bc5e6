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
	// lookInterval is how often a Monitor looks at the files.
	lookInterval = time.Second

	// maxStats is how many blocks of a stream are looked at each time, in turn, if their
	// folder has not changed. That covers 2 GB of a stream in a second, and takes about a
	// millisecond.
	maxStats = 256

	// confirmations is how many must find the same damage. Meanwhile the server may have
	// done everything that one look can mistake.
	confirmations = 3

	// maxMissing is how many ranges of missing messages are written down for a block. The
	// last one has what is left.
	maxMissing = 100
)

// Monitor records the files of an open store about once a second, so that the next [Check]
// finds what is missing. It tells damage from changes by the server. For a damaged file it
// keeps the earlier record.
type Monitor struct {
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
	buf     []byte // see [Monitor.readFrom]
	cancel  context.CancelFunc
	done    chan struct{}
}

// newMonitor returns a Monitor that does not look by itself.
func newMonitor(dir string, server Server, damaged func(error), log *slog.Logger) (*Monitor, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	// It is written in place: a folder that is being removed gets no new files.
	file, err := root.OpenFile(ledgerFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Monitor{
		root: root, file: file, server: server, log: log, damaged: damaged, done: make(chan struct{}),
		ledger: ledger{Boot: bootID(), Streams: make(map[string]*stream)}, seen: make(map[string]*seen),
	}, nil
}

func (m *Monitor) write() error {
	if !m.changed {
		return nil
	}
	data, err := m.ledger.encode()
	if err != nil {
		return err
	}
	if _, err := m.file.WriteAt(data, 0); err != nil {
		return err
	}
	m.changed = false
	return m.file.Truncate(int64(len(data)))
}

// grow notes what messages the stream has. Of a damaged one the server may have forgotten
// some.
func (m *Monitor) grow(s *stream, r Range) {
	if len(s.Damaged) > 0 {
		r = Range{s.First, max(s.Last, r.Last)}
	}
	m.changed = m.changed || r != s.Range
	s.Range = r
}

// describe notes the description of a stream, if it has changed.
func (m *Monitor) describe(name string) error {
	s, files := m.ledger.Streams[name], m.root.FS()
	info, err := fs.Stat(files, path.Join(streamsDir, name, metaFile))
	if err != nil || info.ModTime().UnixNano() == m.seen[name].meta {
		return nil // an error: it is written anew when the stream is changed
	}
	if meta, sum, intact := description(files, name); intact {
		s.Meta, s.Sum = meta, sum
		m.seen[name].meta = info.ModTime().UnixNano()
		m.changed = true
	}
	return nil
}

// damage notes what happened to blocks, which stay in the ledger as they were.
func (m *Monitor) damage(name string, found map[string]damage) {
	s := m.ledger.Streams[name]
	var reported []string
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
		m.changed = true
		reported = append(reported, file+" "+d.Cause)
	}
	switch {
	case len(reported) == 0:
		return
	case len(reported) > 3:
		reported = append(reported[:3], fmt.Sprintf("and %d more", len(reported)-3))
	}
	err := fmt.Errorf("%s: %s", path.Join(name, blocksDir), strings.Join(reported, ", "))
	m.log.Error("files of the event store are damaged", "err", err)
	m.once.Do(func() { m.damaged(err) })
}

// seen is what a Monitor remembers of the files of a stream besides the ledger.
type seen struct {
	dir    time.Time // when the folder of its blocks was modified; zero means it must be listed
	meta   int64     // the same for its description, in ns of Unix time
	blocks []string  // in order
	next   int       // of blocks, the first one to look at
	end    end
}

// last returns the block that is written; empty means there is none.
func (s *seen) last() string {
	if len(s.blocks) == 0 {
		return ""
	}
	return s.blocks[len(s.blocks)-1]
}

// end is how far the block that is written has been read.
type end struct {
	file, id string
	at       int64  // where the last record begins
	top      uint64 // the highest sequence number of its messages
}

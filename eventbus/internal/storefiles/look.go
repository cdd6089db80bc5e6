package storefiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"
)

// StartMonitor begins to record the files of the store in dir, which server has open. It calls
// damaged once, from a goroutine of its own, when the store must be opened anew because
// its files were damaged: then [Check] finds what is lost. The caller closes the Monitor.
func StartMonitor(dir string, server Server, damaged func(error), log *slog.Logger) (*Monitor, error) {
	m, err := newMonitor(dir, server, damaged, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go m.run(ctx)
	return m, nil
}

func (m *Monitor) run(ctx context.Context) {
	defer close(m.done)
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for running := true; ; {
		if err := m.look(); err != nil {
			m.log.Debug("the files of the event store could not be written down", "err", err)
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
func (m *Monitor) Stop() {
	m.cancel()
	<-m.done
}

// Close records the files of the store after its server has stopped. last are the
// streams it had. If last is nil, because reading them failed, the store is not marked
// as closed.
func (m *Monitor) Close(last map[string]Range) error {
	m.Stop()
	var err error
	if last != nil {
		m.ledger.Closed, m.closing, m.changed = true, true, true
		for _, s := range m.seen {
			s.dir = time.Time{}
		}
		m.server = stopped(last)
		err = m.look()
	}
	return errors.Join(err, m.file.Close(), m.root.Close())
}

// stopped is a server that has stopped: the streams it had.
type stopped map[string]Range

func (s stopped) Streams() (map[string]Range, error) { return s, nil }

func (s stopped) Messages(string) (*Messages, error) {
	return nil, errors.New("the server has stopped")
}

// look writes down what has changed.
func (m *Monitor) look() error {
	ranges, err := m.server.Streams()
	if err != nil {
		return err
	}
	var failed error
	for name, r := range ranges {
		if m.ledger.Streams[name] == nil {
			m.ledger.Streams[name], m.seen[name] = &stream{}, &seen{}
			m.changed = true
		}
		if err := m.lookAt(name, r); err != nil { // the others are written down
			failed = errors.Join(failed, fmt.Errorf("the stream %s: %w", name, err))
		}
	}
	for name := range m.ledger.Streams {
		if _, there := ranges[name]; !there {
			delete(m.ledger.Streams, name)
			delete(m.seen, name)
			m.changed = true
		}
	}
	return errors.Join(failed, m.write())
}

// lookAt looks at the files of a stream, which has the messages r.
func (m *Monitor) lookAt(name string, r Range) error {
	s := m.ledger.Streams[name]
	dir, err := m.root.OpenRoot(path.Join(streamsDir, name, blocksDir))
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Blocks) == 0: // in memory, or about to be made
		m.grow(s, r)
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return m.folderMissing(name, r)
	case err != nil:
		return err
	}
	defer dir.Close()
	suspects, err := m.changes(name, dir)
	if err == nil && len(suspects) > 0 {
		err = m.confirm(name, r, suspects)
	}
	if err != nil {
		m.seen[name].dir = time.Time{} // all of it is looked at anew
		return err
	}
	m.grow(s, r)
	return m.describe(name)
}

// folderMissing looks after a stream whose blocks have no folder. The server is without one for a
// moment while it purges the stream or deletes it, and answers when it has done so.
func (m *Monitor) folderMissing(name string, r Range) error {
	for range confirmations {
		ranges, err := m.server.Streams()
		if err != nil {
			return err
		}
		if _, there := ranges[name]; !there {
			return nil
		}
		for _, dir := range []string{blocksDir, purgeDir} { // the new folder has the other name, until it is renamed
			if _, err := m.root.Stat(path.Join(streamsDir, name, dir)); !errors.Is(err, fs.ErrNotExist) {
				return err // the next look finds what there is
			}
		}
	}
	s := m.ledger.Streams[name]
	found := make(map[string]damage)
	for file := range s.Blocks {
		found[file] = damage{Cause: "was removed"}
	}
	m.damage(name, found)
	m.grow(s, r)
	return nil
}

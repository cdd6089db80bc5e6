package storefiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// changes returns the blocks that have changed in an unusual way. It accepts what a server
// always does: to append to the last block, and to begin another.
func (m *Monitor) changes(name string, dir *os.Root) (suspects []string, err error) {
	s, seen := m.ledger.Streams[name], m.seen[name]
	written := seen.last()
	looked, now, err := s.stat(dir, seen)
	if err != nil {
		return nil, err
	}
	for _, file := range looked {
		was, known := s.Blocks[file]
		is, there := now[file]
		if _, damaged := s.Damaged[file]; damaged || known && there && is.unchanged(was) && !(m.closing && file == seen.end.file) {
			continue
		}
		natural := false
		if there {
			is, natural, err = m.natural(name, dir, file, written)
		}
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case natural:
			s.Blocks[file] = is
			m.changed = true
		default:
			suspects = append(suspects, file)
		}
	}
	return suspects, nil
}

// stat looks at the blocks of a stream: at all if their folder has changed, else at the
// last one and some of the others. What is not in now is not there.
func (s *stream) stat(dir *os.Root, seen *seen) (looked []string, now map[string]fileState, err error) {
	info, err := dir.Stat(".")
	if err != nil {
		return nil, nil, err
	}
	if at := info.ModTime(); !at.Equal(seen.dir) {
		if now, err = blocksIn(dir.FS(), "."); err != nil {
			return nil, nil, err
		}
		if s.Blocks == nil {
			s.Blocks = make(map[string]fileState)
		}
		seen.blocks = seen.blocks[:0]
		for file := range now {
			seen.blocks = append(seen.blocks, file)
		}
		slices.SortFunc(seen.blocks, byNumber)
		looked = slices.Clone(seen.blocks)
		for file := range s.Blocks {
			if _, there := now[file]; !there {
				looked = append(looked, file)
			}
		}
		slices.SortFunc(looked, byNumber)
		seen.dir = at
		if time.Since(at) < lookInterval { // the clock of files is coarse: there may be more at that time
			seen.dir = time.Time{}
		}
		return looked, now, nil
	}
	now = make(map[string]fileState)
	for range min(maxStats, len(seen.blocks)-1) {
		seen.next %= len(seen.blocks) - 1
		looked = append(looked, seen.blocks[seen.next])
		seen.next++
	}
	if len(seen.blocks) > 0 {
		looked = append(looked, seen.last())
	}
	for _, file := range looked {
		info, err := dir.Lstat(file)
		switch {
		case err == nil:
			now[file] = stateOf(info)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, err
		}
	}
	return looked, now, nil
}

// natural reports whether a block has changed in the usual way: it is new, or was appended to.
// written is the newest block at the last look.
func (m *Monitor) natural(name string, dir *os.Root, file, written string) (is fileState, natural bool, err error) {
	f, err := dir.Open(file)
	if err != nil {
		return is, false, err
	}
	defer f.Close()
	if is, err = openState(f); err != nil {
		return is, false, err
	}
	seen := m.seen[name]
	was, known := m.ledger.Streams[name].Blocks[file]
	if last := file == seen.last(); last && known && !m.closing && is.Size > was.Size && !is.otherFile(was) {
		natural, err := m.readOn(f, name, file, &is)
		return is, natural, err
	}
	switch {
	case !known, is.unchanged(was) && !m.closing:
		return is, true, nil
	case is.Size < was.Size, is.otherFile(was), file != seen.last() && file != written, is.Size == was.Size && !is.unchanged(was):
		return is, false, nil
	}
	// It is written no more: all of it is read once.
	data, err := m.readFrom(f, 0, is.Size)
	b := parseBlock(data, checksums(name, blockNumber(file)))
	return is, !b.garbled(file == seen.last()), err
}

// readOn reads what was appended to the newest block, and the record before it. If the file
// was cut off meanwhile, a hole precedes what was appended.
func (m *Monitor) readOn(f *os.File, name, file string, is *fileState) (natural bool, err error) {
	s := m.seen[name]
	if s.end.file != file || s.end.id != is.ID {
		s.end = end{file: file, id: is.ID}
	}
	data, err := m.readFrom(f, s.end.at, is.Size)
	if err != nil {
		return false, err
	}
	b := parseBlock(data, checksums(name, blockNumber(file)))
	if b.garbled(true) || b.end == 0 && s.end.at > 0 {
		return false, nil
	}
	is.Size = s.end.at + int64(b.end) // what is there in part is looked at again
	s.end.at += int64(b.start)
	s.end.top = max(s.end.top, b.last)
	return true, nil
}

// maxReused bounds the buffer that a Monitor reuses for reading, in bytes. What is written
// between two looks is smaller, unless all of a block is read.
const maxReused = 1 << 20

// readFrom returns what a file holds from a place up to a size; less, if it was cut off
// meanwhile. The next call writes over it.
func (m *Monitor) readFrom(f *os.File, from, size int64) ([]byte, error) {
	n := int(max(size-from, 0))
	data := slices.Grow(m.buf[:0], n)[:n]
	if n <= maxReused {
		m.buf = data
	}
	n, err := f.ReadAt(data, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

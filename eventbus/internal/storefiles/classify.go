package storefiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// confirm finds out which of the blocks that have changed were damaged, and accepts the
// others as they are.
//
// A server removes a block when it has no message of it any more, and writes one anew, in
// another file, with the messages that it still has. So what it has between the
// blocks around it must be in the file. It is asked after the file was read: what it still
// has then was in the file before.
func (m *Monitor) confirm(name string, r Range, suspects []string) error {
	s := m.ledger.Streams[name]
	var found map[string]damage
	for i := range confirmations {
		if i > 0 {
			ranges, err := m.server.Streams()
			if err != nil {
				return err
			}
			var there bool
			if r, there = ranges[name]; !there {
				return nil
			}
		}
		verdicts, err := m.classify(name, r, suspects)
		if err != nil {
			return err
		}
		m.changed = true
		found, suspects = make(map[string]damage), nil
		for file, v := range verdicts {
			switch {
			case v.damage != nil:
				found[file] = *v.damage
				suspects = append(suspects, file)
			case v.there:
				s.Blocks[file] = v.is
				if m.seen[name].end.file == file {
					m.seen[name].end = end{} // it may be another file
				}
			default:
				delete(s.Blocks, file)
			}
		}
		if len(found) == 0 {
			return nil
		}
	}
	m.damage(name, found)
	return nil
}

// verdict is what was found out about a block.
type verdict struct {
	is          fileState
	there       bool
	block       *block
	written     bool   // it is the last one
	after, upTo uint64 // what its messages may be: those between the blocks around it
	damage      *damage
}

// classify finds out about blocks of a stream, which has the messages r. A verdict without
// damage means that the server has made the block what it is.
func (m *Monitor) classify(name string, r Range, suspects []string) (map[string]*verdict, error) {
	dir, err := m.root.OpenRoot(path.Join(streamsDir, name, blocksDir))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	blocks, err := blocksIn(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	in := &inspection{dir: dir, name: name, files: slices.SortedFunc(maps.Keys(blocks), byNumber), parsed: make(map[string]*block)}
	verdicts := make(map[string]*verdict)
	ask := false
	for _, file := range suspects {
		v, err := in.inspect(file, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		verdicts[file] = v
		ask = ask || v.after < v.upTo
	}
	has := &Messages{}
	if ask && !m.closing { // else it can't be asked any more
		if has, err = m.messages(name); err != nil {
			return nil, err
		}
	}
	for file, v := range verdicts {
		if was := m.ledger.Streams[name].Blocks[file]; !m.closing || v.there && !v.is.otherFile(was) { // else its server did that at the end
			v.compare(was, m.seen[name].end, has)
		}
	}
	return verdicts, nil
}

// A server gets settleTime to count its messages anew, and is asked every settlePause. It needs
// a millisecond once it has a processor. The last look, before the store is closed, waits too.
const (
	settleTime  = time.Second
	settlePause = 5 * time.Millisecond
)

// messages returns what a stream of the server has, once its counts agree.
func (m *Monitor) messages(name string) (*Messages, error) {
	for began := time.Now(); ; time.Sleep(settlePause) {
		has, err := m.server.Messages(name)
		if err != nil || has.settled() || time.Since(began) >= settleTime {
			return has, err
		}
	}
}

// compare finds out what happened to a block. It compares the block with its earlier state,
// with what was read while it was written, and with what the server has.
func (v *verdict) compare(was fileState, end end, has *Messages) {
	d := damage{Missing: has.missing(v.after, v.upTo, v.block.ranges)}
	switch {
	case v.is.sameFile(was) && v.is.Size < was.Size && !v.written: // a server does that only where the disk did not take a message
		d.Cause = "was cut off"
	case v.there && v.block.garbled(v.written):
		d.Cause = "was garbled"
	case v.written && v.is.sameFile(fileState{ID: end.id}) && v.block.last < end.top:
		d.Cause = "was cut off"
	case len(d.Missing) == 0:
		return
	case !v.there:
		d.Cause = "was removed"
	case v.is.Size < was.Size:
		d.Cause = "was cut off"
	default:
		d.Cause = "was replaced by one that lacks messages"
	}
	v.damage = &d
}

// inspection is what is found out about a stream at one time.
type inspection struct {
	dir    *os.Root
	name   string
	files  []string // the blocks that there are, in order
	parsed map[string]*block
	err    error // of reading a block near a suspect
}

// inspect reads a block of a stream, which has the messages r.
func (in *inspection) inspect(file string, r Range) (*verdict, error) {
	b, is, err := in.read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	v := &verdict{
		is: is, there: err == nil, block: b, written: len(in.files) > 0 && file == in.files[len(in.files)-1],
		after: max(in.lastBefore(file)+1, r.First) - 1, upTo: min(in.lastBeforeNext(file), r.Last),
	}
	return v, in.err
}

// read returns what a block holds.
func (in *inspection) read(file string) (*block, fileState, error) {
	f, err := in.dir.Open(file)
	if err != nil {
		return &block{}, fileState{}, err
	}
	defer f.Close()
	is, err := openState(f)
	if err != nil {
		return &block{}, is, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return &block{}, is, err
	}
	b := parseBlock(data, checksums(in.name, blockNumber(file)))
	in.parsed[file] = b
	return b, is, nil
}

// neighbour returns what a block near a suspect holds.
func (in *inspection) neighbour(file string) *block {
	if b := in.parsed[file]; b != nil {
		return b
	}
	b, _, err := in.read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && in.err == nil {
		in.err = err
	}
	return b
}

// lastBefore returns the last message before a block.
func (in *inspection) lastBefore(file string) uint64 {
	at, _ := slices.BinarySearchFunc(in.files, file, byNumber)
	for at--; at >= 0; at-- {
		if b := in.neighbour(in.files[at]); b.last > 0 {
			return b.last
		}
	}
	return 0
}

// lastBeforeNext returns the number before the first message of the next block.
func (in *inspection) lastBeforeNext(file string) uint64 {
	at, there := slices.BinarySearchFunc(in.files, file, byNumber)
	if there {
		at++
	}
	for ; at < len(in.files); at++ {
		if b := in.neighbour(in.files[at]); b.first > 0 {
			return b.first - 1
		}
	}
	return maxSeq
}

package storefiles

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/fileinfo"
)

// check is the comparison of one stream.
type check struct {
	root   fs.FS
	name   string
	known  *ledger
	all    bool    // files that have not changed are read, too
	was    *stream // its record in the ledger; empty means there is no record
	blocks map[string]fileState

	causes map[string]string // what is wrong with a block
	parsed map[string]*block
	meta   bool     // the description is missing or garbled
	torn   []string // blocks that end with a part of a message, which may never have been acknowledged
	found  []Loss
	top    uint64 // the highest sequence number that is found
	at     time.Time
}

func checkStream(root fs.FS, name string, known *ledger, all bool) (*check, error) {
	c := &check{root: root, name: name, known: known, all: all, was: known.Streams[name], causes: make(map[string]string), parsed: make(map[string]*block)}
	if c.was == nil {
		c.was = &stream{}
	}
	if !known.Closed {
		if _, err := fs.Stat(root, path.Join(streamsDir, name, purgeDir)); err == nil {
			return c, nil // the process ended in the middle of it, and the server finishes it
		}
	}
	var err error
	if c.blocks, err = blocksOf(root, name); err != nil {
		return nil, err
	}
	_, _, intact := description(root, name)
	c.meta = !intact
	files := slices.Collect(maps.Keys(c.blocks))
	for file := range c.was.Blocks {
		if _, there := c.blocks[file]; !there {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return blockNumber(a) - blockNumber(b) })
	for _, file := range files {
		if err := c.checkBlock(file); err != nil {
			return nil, err
		}
	}
	if len(c.causes) == 0 && !c.short(files) {
		return c, nil
	}
	for _, file := range files {
		if _, err := c.parse(file); err != nil {
			return nil, err
		}
	}
	c.losses(files)
	return c, nil
}

// checkBlock finds out whether something is wrong with a block.
func (c *check) checkBlock(file string) error {
	was, known := c.was.Blocks[file]
	is, there := c.blocks[file]
	switch {
	case c.was.Damaged[file].Cause != "":
		c.causes[file] = c.was.Damaged[file].Cause
		_, err := c.parse(file)
		return err
	case !there && was.Size == 0, there && known && is.unchanged(was) && !c.all:
		return nil
	case !there:
		if emptied, err := c.emptied(file); emptied || err != nil {
			return err
		}
		c.causes[file] = "is missing"
		if !c.known.Closed {
			c.causes[file] = "is missing (unless it was deleted in the last second of a process that was killed)"
		}
		return nil
	}
	b, err := c.parse(file)
	if err != nil {
		return err
	}
	cut := is.Size < was.Size
	switch {
	case !b.bad && cut && !c.known.Closed && is.Size > 0 && !c.sameFile(file, b): // the server has made it smaller
	case cut && (!b.bad || b.partial):
		c.causes[file] = "was cut off"
	case b.partial && !c.known.Closed && int64(b.end) >= was.Size: // the server removes the rest of a write
		c.torn = append(c.torn, file)
	case b.bad:
		c.causes[file] = "was garbled"
	}
	return nil
}

// sameFile reports whether a block that is smaller is known to be the same file. A server that
// makes it smaller writes another file, except at the end of the last block if the disk has
// not taken a message.
func (c *check) sameFile(file string, b *block) bool {
	if file == lastBlock(c.was.Blocks) && b.top >= c.was.Last {
		return false
	}
	f, err := c.root.Open(path.Join(streamsDir, c.name, blocksDir, file))
	if err != nil {
		return false
	}
	defer f.Close()
	is, ok := f.(*os.File)
	return ok && fileState{ID: fileinfo.ID(is)}.sameFile(c.was.Blocks[file])
}

// emptied reports whether the server has removed a block because all of its messages
// were deleted, which it does at once. Of the last block it can be told: the server goes
// on in a new one, whose first record has the last number of the one before.
func (c *check) emptied(file string) (bool, error) {
	if c.known.Closed || file != lastBlock(c.was.Blocks) {
		return false, nil
	}
	next := ""
	for other := range c.blocks {
		if blockNumber(other) > blockNumber(file) && (next == "" || blockNumber(other) < blockNumber(next)) {
			next = other
		}
	}
	if _, known := c.was.Blocks[next]; next == "" || known {
		return false, nil
	}
	b, err := c.parse(next)
	return err == nil && b.opens > 0 && b.opens >= c.was.Last, err
}

// short reports whether the stream has fewer messages than were written down.
func (c *check) short(files []string) bool {
	if len(files) == 0 {
		return c.was.Last > 0
	}
	last := files[len(files)-1]
	if is, there := c.blocks[last]; there && is.unchanged(c.was.Blocks[last]) {
		return false
	}
	top := uint64(0)
	for _, b := range c.parsed {
		top = max(top, b.top)
	}
	return top < c.was.Last
}

// parse returns what a block holds; empty means it is missing.
func (c *check) parse(file string) (*block, error) {
	if b := c.parsed[file]; b != nil {
		return b, nil
	}
	b := &block{}
	if _, there := c.blocks[file]; there {
		data, err := fs.ReadFile(c.root, path.Join(streamsDir, c.name, blocksDir, file))
		if err != nil {
			return nil, err
		}
		b = parseBlock(data, checksums(c.name, blockNumber(file)))
	}
	c.parsed[file] = b
	return b, nil
}

// losses finds the ranges that are missing between what is there.
func (c *check) losses(files []string) {
	intact := max(c.was.First, 1) - 1
	var after time.Time
	var causes []string // of what is missing behind intact
	lost := func(upTo uint64, before time.Time) {
		if len(causes) > 0 && upTo > intact {
			c.found = append(c.found, Loss{
				Stream: c.name, First: intact + 1, Last: upTo, Cause: strings.Join(causes, ", "), Found: time.Now(), After: after, Before: before,
			})
		}
		causes = nil
	}
	for _, file := range files {
		b := c.parsed[file]
		cause := c.causes[file]
		if cause != "" {
			cause = path.Join(c.name, blocksDir, file) + " " + cause
		}
		if b.top > c.top {
			c.top, c.at = b.top, b.topTime
		}
		if b.first == 0 {
			if cause != "" {
				causes = append(causes, cause)
			}
			continue
		}
		lost(b.first-1, b.firstTime)
		intact, after = max(intact, b.last), b.lastTime
		if cause != "" {
			causes = append(causes, cause)
		}
	}
	if c.was.Last > max(intact, c.top) && len(causes) == 0 {
		causes = []string{path.Join(c.name, blocksDir) + " ends too early"}
	}
	if boot := bootID(); len(causes) > 0 && !c.known.Closed && boot != c.known.Boot && boot != "" {
		causes = append(causes, "and the machine was started anew meanwhile: a power cut takes what was not on the disk yet (--sync)")
	}
	lost(c.was.Last, time.Time{})
	c.addMissing(files)
}

// addMissing adds what the server missed in blocks that were damaged while the store was open,
// unless the comparison has found it.
func (c *check) addMissing(files []string) {
	for _, file := range files {
		for _, m := range c.was.Damaged[file].Missing {
			if !slices.ContainsFunc(c.found, func(l Loss) bool { return l.First <= m.First && m.Last <= l.Last }) {
				c.found = append(c.found, Loss{Stream: c.name, First: m.First, Last: m.Last, Cause: path.Join(c.name, blocksDir, file) + " " + c.causes[file], Found: time.Now()})
			}
		}
	}
	slices.SortFunc(c.found, func(a, b Loss) int { return cmp.Compare(a.First, b.First) })
}

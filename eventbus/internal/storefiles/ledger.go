package storefiles

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"path"
	"strings"
)

const (
	ledgerFile = "blocks.json"
	streamsDir = "jetstream/$G/streams" // below the folder of the store; $G is the one account
	blocksDir  = "msgs"                 // of a stream
	metaFile   = "meta.inf"             // of a stream: its description
	metaSum    = "meta.sum"             // and the checksum of that
	indexFile  = "index.db"             // of a stream, beside its blocks; the server makes it anew
	purgeDir   = "__new_msgs__"         // of a stream whose blocks are about to be replaced
)

// ledger is what files a store has.
type ledger struct {
	Closed  bool               `json:"closed"` // the process has ended in order since
	Boot    string             `json:"boot"`   // of the machine; empty means unknown
	Streams map[string]*stream `json:"streams"`
}

// stream is what files a stream has.
type stream struct {
	Range
	Blocks map[string]fileState `json:"blocks"`

	// Damaged are blocks that were damaged while the store was open. Blocks has them as
	// they were before.
	Damaged map[string]damage `json:"damaged,omitempty"`

	Meta []byte `json:"meta"` // its description; nil means there is none
	Sum  []byte `json:"sum"`
}

// damage is what happened to a block.
type damage struct {
	Cause   string  `json:"cause"`
	Missing []Range `json:"missing,omitempty"` // messages that the server had, and no file has
}

// Range is what messages a stream has, by their sequence numbers.
type Range struct {
	First uint64 `json:"first"` // 0 means it never had one
	Last  uint64 `json:"last"`
}

// fileState tells whether a file has changed.
type fileState struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`     // in ns of Unix time
	ID       string `json:"id,omitempty"` // of the file, whatever its name; empty means unknown
}

func stateOf(info fs.FileInfo) fileState {
	return fileState{Size: info.Size(), Modified: info.ModTime().UnixNano()}
}

// unchanged reports whether a file has the same size and time. The name may be another file's.
func (s fileState) unchanged(was fileState) bool {
	return s.Size == was.Size && s.Modified == was.Modified
}

// sameFile reports whether it is known to be the same file, written in place, and
// otherFile whether it is known to be another one.
func (s fileState) sameFile(was fileState) bool  { return s.ID != "" && s.ID == was.ID }
func (s fileState) otherFile(was fileState) bool { return s.ID != "" && was.ID != "" && s.ID != was.ID }

// sealed is a ledger in its file, which is overwritten in place.
type sealed struct {
	Sum    uint32          `json:"sum"` // of the text of the ledger
	Ledger json.RawMessage `json:"ledger"`
}

func (l *ledger) encode() ([]byte, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{crc32.ChecksumIEEE(data), data})
}

// decodeLedger returns nil for a ledger that was not written as a whole.
func decodeLedger(data []byte) *ledger {
	var s sealed
	var l ledger
	if json.Unmarshal(data, &s) != nil || crc32.ChecksumIEEE(s.Ledger) != s.Sum || json.Unmarshal(s.Ledger, &l) != nil {
		return nil
	}
	return &l
}

// streamNames returns the streams that have a folder.
func streamNames(root fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(root, streamsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") { // the server has begun to remove that
			names = append(names, e.Name())
		}
	}
	return names, err
}

// blocksOf returns the blocks that a stream has.
func blocksOf(root fs.FS, name string) (map[string]fileState, error) {
	return blocksIn(root, path.Join(streamsDir, name, blocksDir))
}

// blocksIn returns the blocks in a folder.
func blocksIn(root fs.FS, dir string) (map[string]fileState, error) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	blocks := make(map[string]fileState)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), blockSuffix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "read", Path: path.Join(dir, e.Name()), Err: errors.New("it is not a file")}
		}
		blocks[e.Name()] = stateOf(info)
	}
	return blocks, nil
}

// lastBlock returns the last block of some; empty means there are none.
func lastBlock(blocks map[string]fileState) (last string) {
	for file := range blocks {
		if last == "" || blockNumber(file) > blockNumber(last) {
			last = file
		}
	}
	return last
}

// description returns the description of a stream, if it is intact.
func description(root fs.FS, name string) (meta, sum []byte, intact bool) {
	meta, err := fs.ReadFile(root, path.Join(streamsDir, name, metaFile))
	if err == nil {
		sum, err = fs.ReadFile(root, path.Join(streamsDir, name, metaSum))
	}
	return meta, sum, err == nil && describes(name, meta, sum)
}

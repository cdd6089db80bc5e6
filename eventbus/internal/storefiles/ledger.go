package storefiles

import (
	"encoding/json"
	"hash/crc32"
	"io/fs"
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

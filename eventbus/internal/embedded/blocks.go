package embedded

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// nats-server keeps the messages of a stream in blocks, files with a number for a
// name, and opens a stream whose blocks were cut off or removed without a word. So
// a leader that closes the store writes down which blocks there are, and the next
// one compares. After a leader that was killed there is nothing to compare with.
const (
	blocksFile   = "blocks.json"
	streamsDir   = "jetstream/$G/streams" // below the folder of the store; $G is the one account
	blockSuffix  = ".blk"
	streamsIndex = "index.db" // of a stream, beside its blocks
)

// stream is a stream as it was when its store was closed.
type stream struct {
	First, Last uint64           // sequence numbers
	Blocks      map[string]int64 // bytes, by file
}

// streamsOf returns the streams that a server has, without their blocks.
func streamsOf(srv *server.Server) (map[string]*stream, error) {
	state, err := srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return nil, err
	}
	streams := make(map[string]*stream)
	for _, account := range state.AccountDetails {
		for _, s := range account.Streams {
			streams[s.Name] = &stream{First: s.State.FirstSeq, Last: s.State.LastSeq}
		}
	}
	return streams, nil
}

// writeBlocks writes down the blocks of the streams in the closed store in dir.
func writeBlocks(dir string, streams map[string]*stream) error {
	for name, s := range streams {
		s.Blocks = make(map[string]int64)
		entries, err := os.ReadDir(blocksDir(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one in memory has none
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), blockSuffix) {
				info, err := e.Info()
				if err != nil {
					return err
				}
				s.Blocks[e.Name()] = info.Size()
			}
		}
	}
	data, err := json.Marshal(streams)
	if err != nil {
		return err
	}
	// Nobody waits for the disk: after a power cut nothing is compared.
	path := filepath.Join(dir, blocksFile)
	return errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
}

// checkBlocks returns what is missing in the store in dir since it was closed. The
// store changes once it is open: so it is compared once.
func checkBlocks(dir string) ([]Loss, error) {
	path := filepath.Join(dir, blocksFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var streams map[string]*stream
	if json.Unmarshal(data, &streams) != nil { // cut off by a power cut
		return nil, nil
	}
	var losses []Loss
	for name, s := range streams {
		losses = append(losses, s.check(name, blocksDir(dir, name))...)
	}
	return losses, nil
}

func blocksDir(dir, stream string) string {
	return filepath.Join(dir, filepath.FromSlash(streamsDir), stream, "msgs")
}

// check returns what is missing of the stream's blocks in dir.
func (s *stream) check(name, dir string) []Loss {
	var files []string
	damaged := make(map[string]string)
	for file, size := range s.Blocks {
		files = append(files, file)
		switch info, err := os.Stat(filepath.Join(dir, file)); {
		case errors.Is(err, fs.ErrNotExist):
			damaged[file] = "is missing"
		case err == nil && info.Size() < size:
			damaged[file] = "was cut off"
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	slices.SortFunc(files, func(a, b string) int { return blockNumber(a) - blockNumber(b) })
	if last := files[len(files)-1]; damaged[last] == "" {
		// The server trusts the index if it fits the last block. Without the index
		// it reads all blocks.
		_ = os.Remove(filepath.Join(dir, streamsIndex))
	}
	var losses []Loss
	var causes []string // of what is missing behind intact
	intact := max(s.First, 1) - 1
	lost := func(upTo uint64) {
		if len(causes) > 0 && upTo > intact {
			losses = append(losses, Loss{Stream: name, First: intact + 1, Last: upTo, Cause: strings.Join(causes, ", ")})
		}
		causes = nil
	}
	for _, file := range files {
		if first, last := readBlock(filepath.Join(dir, file)); first > 0 {
			lost(first - 1)
			intact = max(intact, last)
		}
		if cause := damaged[file]; cause != "" {
			causes = append(causes, fmt.Sprintf("%s %s", file, cause))
		}
	}
	lost(s.Last)
	return losses
}

func blockNumber(file string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(file, blockSuffix))
	return n
}

// readBlock returns the sequence numbers of the first and the last whole message in
// a block; 0: it has none. A record begins with its length, 4 bytes whose highest
// bit has another meaning, and its sequence number, 8 bytes of which the highest
// marks a deleted message, and the next one a note about a message elsewhere.
func readBlock(path string) (first, last uint64) {
	const head, sum = 22, 8
	data, _ := os.ReadFile(path) // one that can't be read has no messages
	for len(data) >= head {
		length := int64(binary.LittleEndian.Uint32(data) &^ (1 << 31))
		if length < head+sum || length > int64(len(data)) {
			break
		}
		seq := binary.LittleEndian.Uint64(data[4:])
		if seq&(1<<62) == 0 {
			seq &^= 1 << 63
			if first == 0 {
				first = seq
			}
			last = max(last, seq)
		}
		data = data[length:]
	}
	return first, last
}

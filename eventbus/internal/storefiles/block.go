package storefiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/minio/highwayhash"
)

// A block is a file with a number for a name: records one behind the other. A
// record has, in the server's filestore.go,
//
//	length(4) sequence(8) time(8) length of the subject(2)
//	subject, length of the headers(4) if there are any, headers, message
//	checksum(8)
//
// The highest bit of the length marks a record with headers. The highest bit of the sequence
// number marks a message that was deleted within its file. The next bit marks a record that
// only says that a message is deleted.
const (
	blockSuffix = ".blk"

	headSize  = 22
	checkSize = 8
	hasHeader = 1 << 31 // of the length
	erasedBit = 1 << 63 // of the sequence number
	deleteBit = 1 << 62

	// maxRecord bounds a record, in bytes, as the server does, and maxSeq the
	// sequence numbers that are believed where no record is expected.
	maxRecord = 32 << 20
	maxSeq    = 1 << 48
)

// block is what the file of a block has before the first place that is no record. The
// server keeps no more of it.
type block struct {
	first, last         uint64 // sequence numbers of messages, deleted ones too; 0 means there are none
	firstTime, lastTime time.Time
	top                 uint64 // the highest sequence number in any record
	topTime             time.Time
	opens               uint64  // the number in its first record, if that says that a message is deleted; else 0
	ranges              []Range // the numbers of its messages, deleted ones too, ascending
	start, end          int     // of the last record, where it begins and ends
	bad                 bool    // what follows the last record is no record
	partial             bool    // it is the beginning of one, as far as can be told
}

// add notes the number of a message. Like the server it accepts none that is not above all
// before.
func (b *block) add(seq uint64) {
	if n := len(b.ranges); n == 0 || seq > b.ranges[n-1].Last+1 {
		b.ranges = append(b.ranges, Range{seq, seq})
	} else if seq > b.ranges[n-1].Last {
		b.ranges[n-1].Last = seq
	}
}

// blockNumber returns the number in a block's name.
func blockNumber(file string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(file, blockSuffix))
	return n
}

// checksums returns the hash of the records of a stream's block.
func checksums(stream string, number int) hash.Hash64 {
	return hashOf(fmt.Sprintf("%s-%d", stream, number))
}

func hashOf(name string) hash.Hash64 {
	key := sha256.Sum256([]byte(name))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the wrong length
	}
	return h
}

// parseBlock reads a block up to the first place that is no record.
func parseBlock(data []byte, sum hash.Hash64) *block {
	b := &block{}
	for b.end < len(data) {
		at := b.end
		size := recordAt(data[at:], sum)
		if size == 0 {
			b.bad, b.partial = true, partial(data[at:])
			break
		}
		seq := binary.LittleEndian.Uint64(data[at+4:])
		when := time.Unix(0, int64(binary.LittleEndian.Uint64(data[at+12:])))
		if message := seq&deleteBit == 0; message {
			seq &^= erasedBit
			if b.first == 0 {
				b.first, b.firstTime = seq, when
			}
			if seq > b.last {
				b.last, b.lastTime = seq, when
			}
			b.add(seq)
		} else if seq &^= deleteBit; at == 0 {
			b.opens = seq
		}
		if seq > b.top {
			b.top, b.topTime = seq, when
		}
		b.start, b.end = at, at+size
	}
	return b
}

// partial reports whether data may be the beginning of a longer record.
func partial(data []byte) bool {
	if len(data) < headSize {
		return true
	}
	size := int(binary.LittleEndian.Uint32(data) &^ hasHeader)
	return size > len(data) && size <= maxRecord
}

// recordAt returns the size of the record with which data begins; 0 means it does not
// begin with one.
func recordAt(data []byte, sum hash.Hash64) int {
	if len(data) < headSize+checkSize {
		return 0
	}
	length := binary.LittleEndian.Uint32(data)
	size := int(length &^ hasHeader)
	subject := int(binary.LittleEndian.Uint16(data[20:]))
	body := subject
	if length&hasHeader != 0 {
		body += 4
	}
	if size < headSize+body+checkSize || size > maxRecord || size > len(data) {
		return 0
	}
	if seq := binary.LittleEndian.Uint64(data[4:]); seq&^(erasedBit|deleteBit) > maxSeq {
		return 0
	}
	sum.Reset()
	sum.Write(data[4:20])
	sum.Write(data[headSize : headSize+subject])
	sum.Write(data[headSize+body : size-checkSize])
	if !bytes.Equal(sum.Sum(nil), data[size-checkSize:size]) || !divided(data[headSize:size-checkSize], subject, length&hasHeader != 0) {
		return 0
	}
	return size
}

var (
	headersBegin = []byte("NATS/1.0")
	headersEnd   = []byte("\r\n\r\n")
)

// divided reports whether the subject and the headers of a record have the lengths that it
// states. The checksum covers their bytes and not their lengths, so a wrong length does not
// change it.
func divided(body []byte, subject int, headers bool) bool {
	if bytes.ContainsFunc(body[:subject], func(c rune) bool { return c <= ' ' || c == '{' || c == '"' }) {
		return false
	}
	if !headers {
		return true
	}
	length, rest := uint64(binary.LittleEndian.Uint32(body[subject:])), body[subject+4:]
	return length <= uint64(len(rest)) && bytes.HasPrefix(rest, headersBegin) && bytes.Index(rest, headersEnd)+len(headersEnd) == int(length)
}

// deleted returns a record that says that the message of a number is deleted. The server
// continues after that number.
func deleted(seq uint64, at time.Time, sum hash.Hash64) []byte {
	return record(seq|deleteBit, at, "", "", sum)
}

// record returns a record without headers.
func record(seq uint64, at time.Time, subject, message string, sum hash.Hash64) []byte {
	data := make([]byte, headSize, headSize+len(subject)+len(message)+checkSize)
	binary.LittleEndian.PutUint32(data, uint32(cap(data)))
	binary.LittleEndian.PutUint64(data[4:], seq)
	binary.LittleEndian.PutUint64(data[12:], uint64(at.UnixNano()))
	binary.LittleEndian.PutUint16(data[20:], uint16(len(subject)))
	data = append(append(data, subject...), message...)
	sum.Reset()
	sum.Write(data[4:20])
	sum.Write(data[headSize:])
	return sum.Sum(data)
}

// garbled reports whether a part of a block is no record. A message that is just being
// written may be partial.
func (b *block) garbled(written bool) bool { return b.bad && !(written && b.partial) }

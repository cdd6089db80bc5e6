package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line that is read, in bytes: records are far shorter.
const maxLine = 4 << 20

// Problem is something that is wrong with a log.
type Problem struct {
	Record uint64 `json:"record"` // which one is wrong, or missing; of what can't be read, the one expected there
	Text   string `json:"problem"`
}

// Verifier checks records, which it is given in their order. The zero value has seen
// none, and expects the chain from its start or from a rotation on.
type Verifier struct {
	Anchor Head // known from elsewhere to be a part of the chain; the zero value: nothing is

	first, last Head   // of the records seen; first has the hash before it
	rotated     Head   // what a rotation says was taken out
	count       uint64 // of records
	lost        bool   // the record before can't be relied upon: whatever follows is taken
	anchored    bool
	problems    []Problem
}

// Line checks the next line, without its newline.
func (v *Verifier) Line(line []byte) {
	v.count++
	r, err := open(line)
	if err != nil {
		v.note(v.last.N+1, "%v", recordError{v.last.N + 1, err})
		v.last.N++
		v.lost = true
		return
	}
	if v.follows(r) {
		v.lost, v.last = false, Head{r.N, r.Hash}
	}
	if r.Rotated != nil && r.Rotated.N > v.rotated.N {
		v.rotated = *r.Rotated
	}
	if r.N == v.Anchor.N {
		v.anchored = true
		if r.Hash != v.Anchor.Hash {
			v.note(r.N, "record %d is not the one of the anchor: the log was written anew", r.N)
		}
	}
}

type recordError struct {
	n   uint64
	err error
}

func (e recordError) Error() string {
	if errors.Is(e.err, errChanged) {
		return fmt.Sprintf("record %d %v", e.n, e.err)
	}
	return fmt.Sprintf("what stands where record %d is expected %v", e.n, e.err)
}

// follows checks the place of a record whose own hash is right. It returns false for a
// record out of order, which the next one need not follow.
func (v *Verifier) follows(r *Record) bool {
	switch {
	case v.last.N == 0:
		v.first = Head{r.N, r.Prev}
		if r.N == 1 && r.Prev != noHash {
			v.note(1, "record 1 has another one before it: it is of another log")
		}
	case r.N <= v.last.N && !v.lost:
		v.note(r.N, "record %d stands behind record %d: it was moved, or is there twice", r.N, v.last.N)
		return false
	case r.N > v.last.N+1:
		v.missing(v.last.N+1, r.N-1)
	case !v.lost && r.Prev != v.last.Hash:
		v.note(r.N, "record %d does not follow record %d: one of them was replaced", r.N, v.last.N)
	}
	return true
}

func (v *Verifier) missing(from, to uint64) {
	if from == to {
		v.note(from, "record %d is missing", from)
	} else {
		v.note(from, "records %d to %d are missing", from, to)
	}
}

func (v *Verifier) note(n uint64, format string, args ...any) {
	v.problems = append(v.problems, Problem{n, fmt.Sprintf(format, args...)})
}

// Lines checks what data has: lines, each with its newline.
func (v *Verifier) Lines(data []byte) {
	for len(data) > 0 {
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		if !complete {
			v.cutOff()
			return
		}
		v.Line(line)
		data = rest
	}
}

func (v *Verifier) cutOff() {
	v.count++
	v.note(v.last.N+1, "the last line, where record %d is expected, is cut off", v.last.N+1)
}

// File checks an exported log.
func (v *Verifier) File(file io.Reader) error {
	reader := bufio.NewReaderSize(file, 64<<10)
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			v.note(v.last.N+1, "the line where record %d is expected has more than %d bytes: it is no record", v.last.N+1, maxLine)
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				v.cutOff()
			}
			return nil
		case err != nil:
			return err
		default:
			v.Line(line[:len(line)-1])
			line = line[:0]
		}
	}
}

// Report is what a verifier has found.
type Report struct {
	Records  uint64    `json:"records"`
	First    uint64    `json:"first,omitempty"`
	Head     *Head     `json:"head,omitempty"` // the last record; nil means there is none
	Problems []Problem `json:"problems"`
}

// Report returns what was found, once all records were given.
func (v *Verifier) Report() *Report {
	report := &Report{Records: v.count, First: v.first.N, Problems: append([]Problem{}, v.problems...)}
	v.problems = nil
	if before := v.first.N; before > 1 {
		switch left := before - 1; {
		case v.rotated.N < left:
			v.missing(1, left)
		case v.rotated.N == left && v.rotated.Hash != v.first.Hash:
			v.note(before, "record %d does not follow what was rotated out: one of them was replaced", before)
		}
	}
	if v.Anchor.N > 0 && !v.anchored {
		v.unanchored()
	}
	report.Problems = append(report.Problems, v.problems...)
	v.problems = nil
	if v.last.N > 0 && len(report.Problems) == 0 {
		report.Head = &Head{v.last.N, v.last.Hash}
	}
	return report
}

// unanchored tells why the record of the anchor is not there.
func (v *Verifier) unanchored() {
	at := v.Anchor.N
	switch {
	case at > v.last.N:
		v.note(at, "the log ends with record %d, before record %d of the anchor: its end was cut off, or it is another log", v.last.N, at)
	case v.rotated == v.Anchor: // it is the last one that was taken out
	case at <= v.rotated.N:
		v.note(at, "record %d of the anchor was rotated out: verify the export that has it", cmp.Or(at, 1))
	default:
		v.note(at, "record %d of the anchor is missing", at)
	}
}

package agentdefs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	maxFile = 1 << 20 // bytes; the longest of several thousand real ones has 127 KB

	// settleTime is how long a file must have been left alone for its size and
	// times to tell of the next change: clocks of file systems tick every 1 to
	// 10 ms, and two writes within a tick may look the same.
	settleTime = 50 * time.Millisecond
)

// fileKey names a file over several scans: by its folder, an index in
// [scan.listings], and its path as shown. Where it really is may change.
type fileKey struct {
	folder int
	shown  string
}

// record is what is known of a file.
type record struct {
	real    string
	info    fs.FileInfo // of when it was read; nil: nothing was read
	settled bool        // info has to change if the file does
	hash    [sha256.Size]byte
	latest  parsed  // what the file holds
	good    *parsed // the last version that could be served; nil: none since it was without an agent on purpose
	force   parsed  // what counts: latest, or good marked as stale
}

// sameAs reports whether the file at s is surely the one that was read.
func (r *record) sameAs(s *source) bool {
	return r.settled && r.real == s.real && r.info.Size() == s.info.Size() && r.info.Mode() == s.info.Mode() &&
		r.info.ModTime().Equal(s.info.ModTime()) && changeTime(r.info).Equal(changeTime(s.info)) && os.SameFile(r.info, s.info)
}

// files is what was read of a scan.
type files struct {
	records map[fileKey]*record
	ordered [][]*record // as the scan's listings have them
	again   time.Time   // when a file that is being written should be read again; zero: none is
	read    int         // how many had to be read
}

// reader reads the files of scans, and only those that have changed.
type reader struct {
	opts  *Options
	known *files // from the scan before; nil: none

	// changed reports whether the file at a real path must be read again,
	// whatever its size and times say; nil: none must.
	changed func(real string) bool
}

// read returns what the files of s amount to. It ends early when ctx does; the
// result is then of no use.
func (r *reader) read(ctx context.Context, s *scan) *files {
	type job struct {
		source *source
		before *record
		to     **record
		again  time.Time
	}
	var jobs []job
	out := &files{records: make(map[fileKey]*record, s.count()), ordered: make([][]*record, len(s.listings))}
	for i := range s.listings {
		sources := s.listings[i].files
		out.ordered[i] = make([]*record, len(sources))
		for j := range sources {
			var before *record
			if r.known != nil {
				before = r.known.records[fileKey{i, sources[j].shown}]
			}
			if before != nil && sources[j].err == nil && before.sameAs(&sources[j]) && (r.changed == nil || !r.changed(sources[j].real)) {
				out.ordered[i][j] = before
				continue
			}
			jobs = append(jobs, job{source: &sources[j], before: before, to: &out.ordered[i][j]})
		}
	}
	next := make(chan *job)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			for j := range next {
				*j.to, j.again = r.one(j.source, j.before)
			}
		})
	}
	for i := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- &jobs[i]
	}
	close(next)
	wg.Wait()
	for _, j := range jobs {
		if !j.again.IsZero() && (out.again.IsZero() || j.again.Before(out.again)) {
			out.again = j.again
		}
	}
	out.read = len(jobs)
	for i, records := range out.ordered {
		for j, f := range records {
			if f != nil {
				out.records[fileKey{i, s.listings[i].files[j].shown}] = f
			}
		}
	}
	return out
}

// one reads the file at s; before is what was known of it. The record is nil if
// there is nothing to say of the file yet, and again says when to look next.
func (r *reader) one(s *source, before *record) (out *record, again time.Time) {
	out = &record{real: s.real}
	err := s.err
	var data []byte
	var at time.Time
	if err == nil {
		at = time.Now()
		data, out.info, err = readFile(s)
	}
	switch {
	case err != nil && s.err == nil && errors.Is(err, fs.ErrNotExist): // removed since it was found
		return nil, time.Time{}
	case err != nil:
		out.latest = parsed{file: s.shown, name: fileName(s.shown), diagnostics: []Diagnostic{
			finding(s.shown, codeFileUnreadable, "make it a readable text file, or remove it", "the file cannot be read: "+cause(err)),
		}}
		if before != nil && before.info == nil && slices.Equal(before.latest.diagnostics, out.latest.diagnostics) {
			return before, time.Time{}
		}
	default:
		changed := out.info.ModTime()
		if c := changeTime(out.info); c.After(changed) {
			changed = c
		}
		out.settled = at.Sub(changed) >= settleTime
		out.hash = sha256.Sum256(data)
		if before != nil && before.hash == out.hash {
			out.latest, out.good, out.force = before.latest, before.good, before.force
			return out, time.Time{}
		}
		out.latest = parse(s.shown, data, r.opts)
	}
	if r.known != nil && out.info != nil && out.latest.looksCut(before) {
		if age := at.Sub(out.info.ModTime()); age >= 0 && age < writingTime {
			return before.unsettled(), out.info.ModTime().Add(writingTime)
		}
	}
	out.decide(before, errors.Is(err, fs.ErrNotExist))
	return out, time.Time{}
}

// readFile returns the text of the regular file at s, and its info from after
// it was read; nil if it was not.
func readFile(s *source) ([]byte, fs.FileInfo, error) {
	if !s.info.Mode().IsRegular() {
		return nil, nil, errors.New("it is no regular file")
	}
	// What has become a pipe since must not block.
	file, err := os.OpenFile(s.real, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is no regular file")
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(file, maxFile+1)); err != nil {
		return nil, nil, err
	}
	if data.Len() > maxFile {
		return nil, nil, fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	info, err = file.Stat()
	return data.Bytes(), info, err
}

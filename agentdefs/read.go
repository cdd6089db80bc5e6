package agentdefs

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
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

	// claims is the name that the file had when it last had one, and holds
	// against agents of folders before its own: what it restricted does not come
	// back without that. Empty: the file has a name, or never had one.
	claims string

	// kept says that the file's folder can't be read, so that nothing is known
	// of the file but what it held.
	kept bool
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
	disk  *disk
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
			if sources[j].kept != nil {
				out.ordered[i][j] = sources[j].kept
				continue
			}
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
	var got content
	var at time.Time
	if err == nil && !s.info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil {
		at = time.Now()
		got, err = r.disk.readFile(s.real)
		out.info = got.info
	}
	switch {
	case err != nil && s.err == nil && nothingThere(err): // removed since it was found
		return nil, time.Time{}
	case err != nil:
		out.latest = parsed{file: s.shown, name: fileName(s.shown), diagnostics: []Diagnostic{
			finding(s.shown, codeFileUnreadable, advice(err, "make it a readable text file, or remove it"), "the file cannot be read: "+cause(err)),
		}}
		if before != nil && before.info == nil && !before.kept && slices.Equal(before.latest.diagnostics, out.latest.diagnostics) {
			return before, time.Time{}
		}
	default:
		changed := out.info.ModTime()
		if c := changeTime(out.info); c.After(changed) {
			changed = c
		}
		out.settled = at.Sub(changed) >= settleTime
		out.hash = sha256.Sum256(got.data)
		if before != nil && before.hash == out.hash {
			out.latest, out.good, out.force, out.claims = before.latest, before.good, before.force, before.claims
			if before.kept {
				out.decide(before, false)
			}
			return out, time.Time{}
		}
		out.latest = parse(s.shown, got.data, r.opts)
	}
	if r.known != nil && out.info != nil && out.latest.looksCut(before) {
		if age := at.Sub(out.info.ModTime()); age >= 0 && age < writingTime {
			return before.unsettled(), out.info.ModTime().Add(writingTime)
		}
	}
	out.decide(before, errors.Is(err, fs.ErrNotExist))
	return out, time.Time{}
}

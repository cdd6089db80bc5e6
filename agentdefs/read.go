package agentdefs

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
	"github.com/agentworker/worker/internal/fileinfo"
)

// settleTime is how old the last change of a file must be before its size and
// times show the next one. Clocks of file systems tick every 1 to 10 ms, and
// two writes within a tick may look the same.
const settleTime = 50 * time.Millisecond

// files is what was read of a scan.
type files struct {
	records map[scan.Key]*record
	ordered [][]*record // as the scan's listings have them
	again   time.Time   // when to read again a file that is being written; zero means no file is
	read    int         // how many had to be read
}

// reader reads the files of scans that have changed.
type reader struct {
	opts  *Options
	disk  *disk.Disk
	known *files // from the scan before; nil means this is the first

	// changed reports whether the file at a real path must be read again,
	// whatever its size and times say; nil means only changed ones.
	changed func(real string) bool
}

// read returns what the files of s amount to. It ends early when ctx does; the
// result is then of no use.
func (r *reader) read(ctx context.Context, s *scan.Scan) *files {
	type job struct {
		source  *scan.File
		outside bool
		before  *record
		to      **record
		again   time.Time
	}
	var jobs []job
	out := &files{records: make(map[scan.Key]*record, s.Count()), ordered: make([][]*record, len(s.Listings))}
	for i := range s.Listings {
		sources := s.Listings[i].Files
		out.ordered[i] = make([]*record, len(sources))
		for j := range sources {
			var before *record
			if r.known != nil {
				before = r.known.records[scan.Key{Folder: i, Shown: sources[j].Shown}]
			}
			if sources[j].LastGood {
				out.ordered[i][j] = before.lastGood()
				continue
			}
			if before != nil && sources[j].Err == nil && before.sameAs(&sources[j]) && (r.changed == nil || !r.changed(sources[j].Real)) && before.refersToSame(r) {
				out.ordered[i][j] = before
				continue
			}
			jobs = append(jobs, job{source: &sources[j], outside: s.Listings[i].Outside, before: before, to: &out.ordered[i][j]})
		}
	}
	next := make(chan *job)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			for j := range next {
				*j.to, j.again = r.one(s, j.source, j.outside, j.before)
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
				out.records[scan.Key{Folder: i, Shown: s.Listings[i].Files[j].Shown}] = f
			}
		}
	}
	return out
}

// one reads the file at s, which may be outside of the workspace; before is what was known of it. The record is nil if
// there is nothing to say of the file yet, and again says when to look next.
func (r *reader) one(of *scan.Scan, s *scan.File, outside bool, before *record) (out *record, again time.Time) {
	out = &record{real: s.Real, list: s.Form != ""}
	err := s.Err
	var got disk.Content
	var at time.Time
	if err == nil && !s.Info.Mode().IsRegular() {
		err = disk.ErrNotRegular
	}
	if err == nil {
		at = time.Now()
		got, err = r.disk.ReadFile(s.Real)
		out.info = got.Info
	}
	switch {
	case err != nil && s.Err == nil && disk.NotThere(err): // removed since it was found
		return nil, time.Time{}
	case err != nil:
		out.latest = definition.Parsed{File: s.Shown, Name: dialect.AgentName(s.Shown), Diagnostics: []Diagnostic{
			diag.OfFile(s.Shown, diag.FileUnreadable, disk.Advice(err, "make it a readable text file, or remove it"), "the file cannot be read: "+disk.Cause(err)),
		}}
		if before != nil && before.info == nil && !before.unreachable && slices.Equal(before.latest.Diagnostics, out.latest.Diagnostics) {
			return before, time.Time{}
		}
	default:
		changed := out.info.ModTime()
		if c := fileinfo.Changed(out.info); c.After(changed) {
			changed = c
		}
		out.settled = at.Sub(changed) >= settleTime
		out.hash = sha256.Sum256(got.Data)
		if before != nil && before.hash == out.hash && before.refersToSame(r) {
			out.latest, out.good, out.force, out.claims = before.latest, before.good, before.force, before.claims
			out.references, out.agents, out.unknown = before.references, before.agents, before.unknown
			if before.unreachable {
				out.decide(before, false)
			}
			return out, time.Time{}
		}
		opts := r.opts.files()
		opts.Outside, opts.Plugin = outside, s.Plugin
		if s.Plugin != "" {
			opts.Dialect = &dialect.From([]string{"plugins"})[0]
		}
		opts.Open = r.opener(of, s, outside, out)
		if s.Form != "" {
			return r.several(s, got.Data, opts, out, before)
		}
		out.latest = definition.Parse(s.Shown, got.Data, opts)
	}
	if out.list {
		out.keepAgents(before)
		return out, time.Time{}
	}
	if r.known != nil && out.info != nil && looksCut(&out.latest, before) {
		if age := at.Sub(out.info.ModTime()); age >= 0 && age < writingTime {
			return before.unsettled(), out.info.ModTime().Add(writingTime)
		}
	}
	out.decide(before, errors.Is(err, fs.ErrNotExist))
	return out, time.Time{}
}

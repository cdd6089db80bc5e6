package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxPage is how many records a page has at most.
const MaxPage = 1000

// ErrCursor is returned for a cursor that no page has had.
var ErrCursor = errors.New("it is no cursor that a list has returned: begin without one")

// Filter chooses records. The zero value chooses all.
type Filter struct {
	Kind, Agent, Tool, Outcome string
	Session                    string    // this session, and all sessions with this root
	Since, Until               time.Time // from Since on, and before Until
}

// Matches reports whether the filter chooses a record.
func (f *Filter) Matches(r *Record) bool {
	is := func(want, has string) bool { return want == "" || want == has }
	return is(f.Kind, string(r.Kind)) && is(f.Agent, r.Agent) && is(f.Tool, r.Tool) && is(f.Outcome, r.Outcome) &&
		(f.Session == "" || f.Session == r.SessionID || f.Session == r.RootID) &&
		!r.Time.Before(f.Since) && (f.Until.IsZero() || r.Time.Before(f.Until))
}

// Page is a part of the list of records.
type Page struct {
	Records []*Record // the newest first
	Next    string    // the cursor of the next page; empty means there is none
}

// Page returns the newest records that a filter chooses, at most limit (1 to
// [MaxPage]). The cursor is [Page.Next] of the previous page, or empty for the first
// one. Lines that are no records are left out: [Log.Verify] finds them. [ErrCursor] is
// returned for a bad cursor.
func (l *Log) Page(ctx context.Context, f *Filter, limit int, cursor string) (*Page, error) {
	page, err := l.page(ctx, f, limit, cursor)
	if err != nil {
		return nil, fmt.Errorf("listing the audit log: %w", err)
	}
	return page, nil
}

func (l *Log) page(ctx context.Context, f *Filter, limit int, cursor string) (*Page, error) {
	if limit < 1 || limit > MaxPage {
		return nil, fmt.Errorf("a page of %d: it has 1 to %d", limit, MaxPage)
	}
	info, err := l.stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	at, below, err := parseCursor(cursor)
	if err != nil {
		return nil, err
	}
	if cursor == "" {
		at = info.State.LastSeq
	}
	page := &Page{Records: []*Record{}}
	for width := uint64(limit); at >= max(info.State.FirstSeq, 1) && at > 0; width *= 2 {
		from := max(info.State.FirstSeq, 1, at-min(at, width)+1)
		parts, err := l.messages(ctx, from, at)
		if err != nil {
			return nil, err
		}
		for _, m := range slices.Backward(parts) {
			for _, r := range slices.Backward(m.records) {
				switch {
				case below > 0 && r.N >= below || !f.Matches(r):
					continue
				case len(page.Records) == limit:
					last := page.Records[limit-1]
					page.Next = fmt.Sprintf("%d-%d", m.seq, last.N)
					return page, nil
				}
				page.Records = append(page.Records, r)
			}
			if past(f, m.records) {
				return page, nil
			}
		}
		at = from - 1
	}
	return page, nil
}

// past reports whether what was stored before some records is older than what a filter
// chooses. The clocks of writers may differ.
func past(f *Filter, records []*Record) bool {
	const clocks = time.Hour
	return len(records) > 0 && !f.Since.IsZero() && records[0].Time.Before(f.Since.Add(-clocks))
}

// message is a message of the log, as far as it can be read.
type message struct {
	seq     uint64
	records []*Record
}

func (l *Log) messages(ctx context.Context, from, to uint64) (all []message, err error) {
	for m, err := range l.bus.Range(ctx, l.stream, from, to) {
		if err != nil {
			return nil, err
		}
		part := message{seq: m.Seq}
		for line := range bytes.Lines(m.Data) {
			if r, err := open(bytes.TrimSuffix(line, []byte{'\n'})); err == nil {
				part.records = append(part.records, r)
			}
		}
		all = append(all, part)
	}
	return all, nil
}

// parseCursor reads the sequence number of the message where a page begins, and the
// number below which its records are.
func parseCursor(cursor string) (at, below uint64, err error) {
	if cursor == "" {
		return 0, 0, nil
	}
	first, second, _ := strings.Cut(cursor, "-")
	at, err1 := strconv.ParseUint(first, 10, 64)
	below, err2 := strconv.ParseUint(second, 10, 64)
	if err1 != nil || err2 != nil || at == 0 || below == 0 {
		return 0, 0, fmt.Errorf("the cursor %.40q: %w", cursor, ErrCursor)
	}
	return at, below, nil
}

// Lines yields the lines that are stored now, the oldest first, each with its newline.
// An error is the last value.
func (l *Log) Lines(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := l.lines(ctx, func(line []byte) bool { return yield(line, nil) }); err != nil {
			yield(nil, fmt.Errorf("reading the audit log: %w", err))
		}
	}
}

func (l *Log) lines(ctx context.Context, yield func([]byte) bool) error {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return err
	}
	for m, err := range l.bus.Range(ctx, l.stream, info.State.FirstSeq, info.State.LastSeq) {
		if err != nil {
			return err
		}
		for line := range bytes.Lines(m.Data) {
			if !yield(line) {
				return nil
			}
		}
	}
	return nil
}

// Choose yields the lines of the log whose records a filter chooses.
func (l *Log) Choose(ctx context.Context, f *Filter) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range l.Lines(ctx) {
			if err == nil && *f != (Filter{}) {
				r, bad := open(bytes.TrimSuffix(line, []byte{'\n'}))
				if bad != nil || !f.Matches(r) {
					continue
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// Verify checks the stored log. anchor is a record that is known from elsewhere to be
// in it; the zero value means no such record is known.
func (l *Log) Verify(ctx context.Context, anchor Head) (*Report, error) {
	for {
		before, err := l.stream.Info(ctx)
		if err != nil {
			return nil, err
		}
		v := &Verifier{Anchor: anchor}
		for line, err := range l.Lines(ctx) {
			if err != nil {
				return nil, err
			}
			v.Lines(line)
		}
		if v.last.N > 0 && v.first.N == 1 && before.State.FirstSeq > 1 {
			v.note(1, "the log begins anew with message %d of its stream: what was stored before was deleted", before.State.FirstSeq)
		}
		losses, err := l.bus.Election().Losses()
		if err != nil {
			return nil, err
		}
		for _, loss := range losses { // of the newest records the chain does not tell
			if loss.Stream == before.Config.Name {
				v.note(v.last.N+1, "%s", loss)
			}
		}
		report := v.Report()
		after, err := l.stream.Info(ctx)
		if err != nil {
			return nil, err
		}
		if len(report.Problems) == 0 || before.State.FirstSeq == after.State.FirstSeq { // else records were taken out meanwhile
			return report, nil
		}
	}
}

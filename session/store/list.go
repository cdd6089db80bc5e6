package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// MaxPage is how many sessions a page has at most.
const MaxPage = 1000

// ErrCursor is returned for a cursor that no page of this workspace has had.
var ErrCursor = errors.New("it is no cursor that a list has returned: begin without one")

// ListOptions says which page of the list of sessions to return.
type ListOptions struct {
	Limit  int    // how many sessions, 1 to [MaxPage]; 0 means MaxPage
	Cursor string // [Page.Next] of the page before; empty means the first page

	// Nested has the page contain nested sessions that have ended ([Record.Nested]).
	Nested bool

	// Since leaves out the sessions that ended before. The zero value: none.
	Since time.Time
}

// Page is a part of the list of sessions.
type Page struct {
	Sessions []*Record // the newest first, in the order in which they were opened
	Next     string    // the cursor of the next page; empty means there is none
	Left     bool      // Since has left out sessions. It is known of the last page
}

// Page returns a page of the list of sessions. Successive pages contain every session
// that existed throughout, and none twice, whatever is opened, changed and deleted
// meanwhile. A session that ends between two pages may appear although Since leaves it
// out. The cost depends on what is returned and, with Since, on what has happened since
// then, not on the number of sessions. [ErrCursor] is returned for a bad cursor.
func (s *Store) Page(ctx context.Context, o ListOptions) (*Page, error) {
	if o.Limit == 0 {
		o.Limit = MaxPage
	}
	if o.Limit < 1 || o.Limit > MaxPage {
		return nil, fmt.Errorf("listing sessions: a page of %d: it has 1 to %d", o.Limit, MaxPage)
	}
	page, err := s.page(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return page, nil
}

func (s *Store) page(ctx context.Context, o ListOptions) (*Page, error) {
	before, err := s.parseCursor(o.Cursor)
	if err != nil {
		return nil, err
	}
	s.settle(ctx, "")
	info, err := s.recordStream.Info(ctx)
	if err != nil {
		return nil, err
	}
	w := &walk{store: s, options: o, first: info.State.FirstSeq, above: make(map[string]bool), changed: make(map[string]bool)}
	if before == 0 || before > info.State.LastSeq {
		before = info.State.LastSeq + 1
	}
	if err := w.down(ctx, before); err != nil {
		return nil, err
	}
	if len(w.found) <= o.Limit && w.older {
		if err := w.long(ctx, before, info.State.LastSeq); err != nil {
			return nil, err
		}
	}
	page := &Page{Sessions: []*Record{}, Left: w.left}
	for i, m := range w.found {
		if i == o.Limit {
			page.Next = s.cursor(w.found[i-1].seq)
			break
		}
		page.Sessions = append(page.Sessions, m.Record)
	}
	// Marks of the same moment may have come in another order.
	slices.SortStableFunc(page.Sessions, func(a, b *Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return page, nil
}

// walk collects the sessions of a page, from the end of the bucket on.
type walk struct {
	store   *Store
	options ListOptions
	first   uint64 // of the bucket
	found   []marked
	at      uint64          // down to it the bucket was read
	older   bool            // there is more below, which was stored before Since
	left    bool            // Since has left out a session
	above   map[string]bool // ids of sessions whose marks were read
	changed map[string]bool // ids of sessions whose record was written since then
}

// down collects the sessions whose marks are below a sequence number, until there are
// enough, or until all further ones were stored before Since.
func (w *walk) down(ctx context.Context, before uint64) error {
	w.at = before
	for width := uint64(6 * w.options.Limit); w.at > w.first && len(w.found) <= w.options.Limit && !w.older; width *= 4 {
		from := w.first
		if w.at-w.first > width {
			from = w.at - width
		}
		marks, err := w.read(ctx, from, w.at-1)
		if err != nil {
			return err
		}
		w.at = from
		slices.Reverse(marks)
		for part := range slices.Chunk(marks, w.options.Limit+1) {
			if len(w.found) > w.options.Limit {
				break
			}
			if err := w.take(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the marks between two sequence numbers that were stored since Since, and
// notes whose records are there.
func (w *walk) read(ctx context.Context, from, to uint64) (marks []marked, err error) {
	for m, err := range w.store.bus.Range(ctx, w.store.recordStream, from, to) {
		if err != nil {
			return nil, err
		}
		id, mark := w.store.parseKey(m.Subject)
		switch {
		case id == "" || len(m.Data) == 0:
		case m.Time.Before(w.options.Since):
			w.older = true
		case !mark:
			w.changed[id] = true
		default:
			w.above[id] = true
			r, err := decodeRecord(m.Data)
			if err != nil {
				return nil, err
			}
			if r.Closed && r.EndedAt.Before(w.options.Since) { // it got its mark after its end
				w.left = true
				continue
			}
			marks = append(marks, marked{m.Seq, r})
		}
	}
	return marks, nil
}

// take collects those of some sessions that the page is to have.
func (w *walk) take(ctx context.Context, marks []marked) error {
	records, err := w.store.resolve(ctx, marks)
	if err != nil {
		return err
	}
	for i, r := range records {
		switch {
		case r == nil:
		case r.Nested && r.Status.Ended() && !w.options.Nested:
		case r.Status.Ended() && r.EndedAt.Before(w.options.Since):
			w.left = true
		default:
			w.found = append(w.found, marked{marks[i].seq, r})
		}
	}
	return nil
}

// long collects the sessions whose marks were stored before Since, and that have not
// ended then.
// before and last are where the walk began, and the end of the bucket.
func (w *walk) long(ctx context.Context, before, last uint64) error {
	if _, err := w.read(ctx, before, last); err != nil {
		return err
	}
	open, err := w.store.open(ctx)
	if err != nil {
		return err
	}
	for _, o := range open {
		w.changed[o.ID] = true
	}
	maps.DeleteFunc(w.changed, func(id string, _ bool) bool { return w.above[id] })
	ids := slices.Collect(maps.Keys(w.changed))
	marks, errs := make([]marked, len(ids)), make([]error, len(ids))
	atOnce(len(ids), func(i int) { marks[i], errs[i] = w.store.markOf(ctx, ids[i]) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	marks = slices.DeleteFunc(marks, func(m marked) bool { return m.seq == 0 || m.seq >= before })
	slices.SortFunc(marks, func(a, b marked) int { return int(b.seq) - int(a.seq) })
	w.left = true
	return w.take(ctx, marks)
}

// markOf returns the mark of a session; zero means it has none, or was deleted.
func (s *Store) markOf(ctx context.Context, id string) (marked, error) {
	r, _, err := s.read(ctx, id)
	if err != nil {
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			err = nil
		}
		return marked{}, err
	}
	entry, err := s.records.Get(ctx, s.markKey(r.Path))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return marked{}, nil
	}
	if err != nil {
		return marked{}, err
	}
	return marked{entry.Revision(), r}, nil
}

// List returns the records of all sessions, the newest first.
func (s *Store) List(ctx context.Context) ([]*Record, error) {
	var all []*Record
	for o := (ListOptions{Nested: true}); ; {
		page, err := s.Page(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if o.Cursor = page.Next; o.Cursor == "" {
			return all, nil
		}
	}
}

// Tree returns the records of the session at the end of path and of all below it, the
// newest first. It costs what it returns.
func (s *Store) Tree(ctx context.Context, path event.Path) ([]*Record, error) {
	s.settle(ctx, "")
	subject := "$KV." + recordBucket + "." + s.markKey(path)
	info, err := s.recordStream.Info(ctx, jetstream.WithSubjectFilter(subject+".>"))
	if err != nil {
		return nil, fmt.Errorf("listing the sessions below %s: %w", path[len(path)-1].SessionID, err)
	}
	tree := []marked{{Record: &Record{ID: path[len(path)-1].SessionID, Path: path}}}
	for below := range info.State.Subjects {
		at := path
		for id := range strings.SplitSeq(strings.TrimPrefix(below, subject+"."), ".") {
			at = at.Child(id, "")
		}
		tree = append(tree, marked{Record: &Record{ID: at[len(at)-1].SessionID, Path: at}})
	}
	records, err := s.resolve(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("listing the sessions below %s: %w", path[len(path)-1].SessionID, err)
	}
	records = slices.DeleteFunc(records, func(r *Record) bool { return r == nil })
	slices.SortStableFunc(records, func(a, b *Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return records, nil
}

// cursor returns the cursor of what comes behind the session whose mark has a
// sequence number: that, and a sum by which others are told from cursors.
func (s *Store) cursor(seq uint64) string {
	data := binary.BigEndian.AppendUint64(nil, seq)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(data, s.cursorSum(data)))
}

func (s *Store) cursorSum(data []byte) uint32 {
	return crc32.ChecksumIEEE(append([]byte(s.workspace), data...))
}

// parseCursor returns the sequence number in a cursor; 0 means it is empty.
func (s *Store) parseCursor(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(data) != 12 || s.cursorSum(data[:8]) != binary.BigEndian.Uint32(data[8:]) {
		return 0, fmt.Errorf("the cursor %.40q: %w", cursor, ErrCursor)
	}
	return binary.BigEndian.Uint64(data), nil
}

package index

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/agentworker/worker/session/record"
)

// MaxPage is the greatest number of sessions in a page.
const MaxPage = 1000

// ErrCursor is returned for a cursor that no page of this workspace had.
var ErrCursor = errors.New("it is no cursor that a list has returned: begin without one")

// ListOptions says which page of the list of sessions to return.
type ListOptions struct {
	Limit  int    // how many sessions, 1 to [MaxPage]; 0 means MaxPage
	Cursor string // [Page.Next] of the previous page; empty means the first page

	// Nested includes nested sessions that have ended ([record.Record.Nested]).
	Nested bool

	// Since leaves out the sessions that ended before it. The zero value leaves out
	// nothing.
	Since time.Time
}

// Page is a part of the list of sessions.
type Page struct {
	Sessions []*record.Record // the newest first, in the order in which they were opened
	Next     string           // the cursor of the next page; empty means there is none
	Left     bool             // Since has left out sessions. Only the last page tells
}

// Page returns a page of the list of sessions. Successive pages contain every session that
// existed throughout, and none twice, whatever is opened, changed and deleted meanwhile. A
// session that ends between two pages may appear although Since leaves it out. The cost
// depends on what is returned and, with Since, on what has happened since then. It does not
// depend on the number of sessions. [ErrCursor] is returned for a bad cursor.
func (x *Index) Page(ctx context.Context, o ListOptions) (*Page, error) {
	if o.Limit == 0 {
		o.Limit = MaxPage
	}
	if o.Limit < 1 || o.Limit > MaxPage {
		return nil, fmt.Errorf("listing sessions: a page of %d: it has 1 to %d", o.Limit, MaxPage)
	}
	page, err := x.page(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return page, nil
}

func (x *Index) page(ctx context.Context, o ListOptions) (*Page, error) {
	before, err := parseCursor(x.bus.Workspace(), o.Cursor)
	if err != nil {
		return nil, err
	}
	x.Settle(ctx, "")
	info, err := x.stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	w := &walk{index: x, options: o, first: info.State.FirstSeq, above: make(map[string]bool), changed: make(map[string]bool)}
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
	page := &Page{Sessions: []*record.Record{}, Left: w.left}
	for i, m := range w.found {
		if i == o.Limit {
			page.Next = cursor(x.bus.Workspace(), w.found[i-1].seq)
			break
		}
		page.Sessions = append(page.Sessions, m.Record)
	}
	// Marks of the same moment may have come in another order.
	slices.SortStableFunc(page.Sessions, func(a, b *record.Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return page, nil
}

// cursor returns the cursor of the sessions after the one with the mark of a sequence
// number. It is that number, with a sum to recognize it by.
func cursor(workspace string, seq uint64) string {
	data := binary.BigEndian.AppendUint64(nil, seq)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(data, cursorSum(workspace, data)))
}

func cursorSum(workspace string, data []byte) uint32 {
	return crc32.ChecksumIEEE(append([]byte(workspace), data...))
}

// parseCursor returns the sequence number in a cursor; 0 means it is empty.
func parseCursor(workspace, cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(data) != 12 || cursorSum(workspace, data[:8]) != binary.BigEndian.Uint32(data[8:]) {
		return 0, fmt.Errorf("the cursor %.40q: %w", cursor, ErrCursor)
	}
	return binary.BigEndian.Uint64(data), nil
}

package eventbus

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// maxDelta bounds the text of deltas that are joined to one, in bytes.
const maxDelta = 16 << 10

// entry is one message of a publisher on its way to the store.
type entry struct {
	p       *Publisher
	number  uint64 // among those of p, from 1
	subject string
	data    []byte // the stored form; nil means delta is encoded when it is sent
	delta   delta
	first   bool // of its publisher in its batch
	last    bool // of its session: the store takes one
	stored  bool // as far as a repair has found

	again    bool      // it may have been sent before
	stuck    time.Time // when the cluster first said of its id that it is on its way already
	renamed  int       // how often it got another id: see [staleID]
	nameless bool      // it may have been sent without an id
}

// delta is an [event.ContentDelta] or an [event.ReasoningDelta], or several that
// follow each other.
type delta struct {
	typ, messageID string
	offset         int
	text           string
	joined         []byte // used instead of text, once there are several
}

func newDelta(ev event.Event) (d delta, ok bool) {
	switch ev := ev.(type) {
	case event.ContentDelta:
		return delta{typ: ev.Type(), messageID: ev.MessageID, offset: ev.Offset, text: ev.Delta}, true
	case event.ReasoningDelta:
		return delta{typ: ev.Type(), messageID: ev.MessageID, offset: ev.Offset, text: ev.Delta}, true
	}
	return delta{}, false
}

func (d *delta) len() int { return max(len(d.text), len(d.joined)) }

// join appends next if it continues d.
func (d *delta) join(next *delta) bool {
	if next.typ != d.typ || next.messageID != d.messageID || next.offset != d.offset+d.len() || d.len()+len(next.text) > maxDelta {
		return false
	}
	if d.joined == nil {
		d.joined = append(make([]byte, 0, 4*(len(d.text)+len(next.text))), d.text...)
		d.text = ""
	}
	d.joined = append(d.joined, next.text...)
	return true
}

// size returns about how many bytes the entry has in memory, and on its way.
func (e *entry) size() int {
	return len(e.subject) + len(e.data) + e.delta.len() + len(e.p.before) + len(e.p.after) + 100
}

// message returns the content that is stored. It may be in buf, which it returns for
// the next.
func (e *entry) message(buf []byte) (data, next []byte) {
	if e.data != nil {
		return e.data, buf
	}
	d := &e.delta
	buf = append(buf[:0], e.p.before...)
	if d.joined != nil {
		buf = event.AppendDelta(buf, d.typ, d.messageID, d.joined, d.offset)
	} else {
		buf = event.AppendDelta(buf, d.typ, d.messageID, d.text, d.offset)
	}
	buf = append(buf, e.p.after...)
	return buf, buf
}

// id returns the entry's message id. It ends in the entry's number, so that a reader
// can tell that none is missing.
func (e *entry) id() string { return e.idAfter(e.renamed) }

// idAfter returns the id that the entry has once it was renamed so often.
func (e *entry) idAfter(renamed int) string {
	prefix := e.p.idPrefix()
	if renamed > 0 {
		prefix = prefix[:len(prefix)-1] + strings.Repeat("R", renamed) + "."
	}
	return prefix + strconv.FormatUint(e.number, 10)
}

// is reports whether a message is the entry. Another publisher of the session may have stored
// the same content: its ids differ. The process that runs the store sends without ids. Nobody
// else does, and its entries end at the next fence.
func (e *entry) is(m *stored) bool {
	known := m.ID == "" && e.nameless
	for n := 0; n <= e.renamed && !known; n++ {
		known = m.ID == e.idAfter(n)
	}
	own, _ := e.message(nil)
	return known && bytes.Equal(own, m.Data)
}

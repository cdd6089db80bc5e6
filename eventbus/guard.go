package eventbus

import (
	"maps"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// opens reports whether the entry is the first one of a session below another one.
func (e *entry) opens() bool { return e.number == 1 && e.p.above != nil }

// orphaned ends the publisher of an entry that opens a session where nothing is stored any
// more of the one above. The caller holds the writer's mu.
func (e *entry) orphaned() {
	if e.opens() && e.p.above.err != nil {
		_ = e.p.end(e.p.above.err)
	}
}

// guard returns the publisher whose fences the store checks before it stores the entry; nil
// means that the check of another entry of its batch is enough.
//
// The first entry of a session in a batch has a guard. The store can't check each: a cluster
// refuses what expects something of a subject that another entry on its way expects something
// of. The first of all entries of a session below another one is guarded by the fences of that
// one, and the second one by its own. One that may have been sent before has a guard, too: the
// store skips the first entry unchecked where that is a duplicate.
func (e *entry) guard() *Publisher {
	switch {
	case e.opens():
		return e.p.above
	case e.first || e.again || e.number == 2 && e.p.above != nil:
		return e.p
	}
	return nil
}

// unfenced returns the headers by which the store refuses a message if there is a later fence
// than p knows. Whoever sends calls it, one at a time.
func (p *Publisher) unfenced() nats.Header {
	if p.expected == nil {
		p.expected = expect(p.fenceSubject, p.known)
	}
	return p.expected
}

func expect(subject string, last uint64) nats.Header {
	return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(last, 10)}, jetstream.ExpectedLastSubjSeqSubjHeader: {subject}}
}

// header returns the headers that the entry needs: with an id, by which the store drops a
// second copy, if ids are asked for. It is valid until the next call.
func (e *entry) header(ids bool, batch string) nats.Header {
	var h nats.Header
	if guard := e.guard(); guard != nil {
		h = guard.unfenced()
		delete(h, natsstore.BatchHeader)
		if batch != "" { // see [Publisher.endBatch]
			h[natsstore.BatchHeader] = []string{batch}
		}
	}
	if !ids {
		e.nameless = true
		return h
	}
	h = maps.Clone(h)
	if h == nil {
		h = make(nats.Header, 1)
	}
	h[jetstream.MsgIDHeader] = []string{e.id()}
	return h
}

package eventbus

import (
	"slices"
	"sort"
	"strings"
)

// The recent events that the fan-out keeps.
const (
	recentEvents = 4096
	recentBytes  = 4 << 20
)

// recent are the last events of a workspace that this process has read, without a
// gap: all after the sequence number floor, up to last.
type recent struct {
	events      []*stored // the oldest first
	dropped     int       // how many of events have gone: they are nil
	bytes       int
	floor, last uint64

	// begun are subjects of sessions that this process has begun, the oldest
	// first, and since the sequence numbers after which they did.
	begun []string
	since map[string]uint64
}

// reset continues after a sequence number with nothing.
func (r *recent) reset(last uint64) {
	*r = recent{floor: last, last: last, since: make(map[string]uint64)}
}

// add adds the next event. The oldest ones go if there are too many.
func (r *recent) add(ev *stored) {
	r.last = ev.Seq
	r.events = append(r.events, ev)
	r.bytes += ev.Size()
	for len(r.events)-r.dropped > recentEvents || r.bytes > recentBytes {
		old := r.events[r.dropped]
		r.events[r.dropped] = nil
		r.dropped++
		r.bytes -= old.Size()
		r.floor = old.Seq
	}
	if r.dropped > recentEvents {
		r.events = append(r.events[:0:0], r.events[r.dropped:]...)
		r.dropped = 0
	}
}

// begin notes that nothing is stored yet of a session with a subject, nor of those
// below it.
func (r *recent) begin(subject string) {
	for len(r.begun) > 0 && (len(r.begun) >= recentEvents || r.since[r.begun[0]] < r.floor) {
		delete(r.since, r.begun[0])
		r.begun = r.begun[1:]
	}
	if _, ok := r.since[subject]; !ok {
		r.begun = append(r.begun, subject)
		r.since[subject] = r.last
	}
}

// below returns the events below subject from a sequence number on. ok is false if
// there may be older ones that are not here.
func (r *recent) below(subject string, from uint64) (events []*stored, ok bool) {
	if from = max(from, 1); from <= r.floor {
		since, ok := r.beginning(subject)
		if !ok || since < r.floor {
			return nil, false
		}
		from = max(from, since+1)
	}
	kept := r.events[r.dropped:]
	kept = kept[sort.Search(len(kept), func(i int) bool { return kept[i].Seq >= from }):]
	for _, ev := range kept {
		if isBelow(ev.Subject, subject) {
			events = append(events, ev)
		}
	}
	return events, true
}

// beginning returns after which sequence number the session with a subject has
// begun, or one above it.
func (r *recent) beginning(subject string) (since uint64, ok bool) {
	for {
		if since, ok = r.since[subject]; ok {
			return since, true
		}
		dot := strings.LastIndexByte(subject, '.')
		if dot < 0 {
			return 0, false
		}
		subject = subject[:dot]
	}
}

// forget drops the events below subject, which have been deleted.
func (r *recent) forget(subject string) {
	kept := slices.DeleteFunc(r.events[r.dropped:], func(ev *stored) bool {
		gone := isBelow(ev.Subject, subject)
		if gone {
			r.bytes -= ev.Size()
		}
		return gone
	})
	r.events = r.events[:r.dropped+len(kept)]
}

func isBelow(subject, above string) bool {
	return len(subject) > len(above) && subject[len(above)] == '.' && subject[:len(above)] == above
}

package storefiles

// Server is the server of an open store, as its [Monitor] asks it.
type Server interface {
	// Streams returns the streams that it has. It is asked at each look.
	Streams() (map[string]Range, error)

	// Messages returns what a stream has. It is asked only where files have changed
	// otherwise than by a message that was stored, because the answer grows with what
	// was deleted. To answer, the server must read no file: of one that is damaged it
	// forgets what was in it.
	Messages(stream string) (*Messages, error)
}

// Messages is what a stream of a server has.
type Messages struct {
	Range
	Count   uint64   // how many it has, as it counts them
	Deleted []uint64 // the numbers between First and Last that it does not have, ascending
	Lost    []uint64 // the deleted ones that it has found missing in its files, ascending
}

// settled reports whether the counts agree. A server that has found a file missing says of its
// messages at once that it does not have them. That they are lost it says a moment later, when
// it has counted anew.
func (m *Messages) settled() bool { return m.First+m.Count+uint64(len(m.Deleted)) == m.Last+1 }

// missing returns the messages above after, and up to upTo, that are not in has, which is
// ascending.
func (m *Messages) missing(after, upTo uint64, has []Range) (missing []Range) {
	deleted, lost := m.Deleted, m.Lost
	for seq := max(after+1, m.First); seq <= min(upTo, m.Last); seq++ {
		for len(has) > 0 && has[0].Last < seq {
			has = has[1:]
		}
		if len(has) > 0 && has[0].First <= seq {
			seq = has[0].Last
			continue
		}
		for len(lost) > 0 && lost[0] < seq {
			lost = lost[1:]
		}
		for len(deleted) > 0 && deleted[0] < seq {
			deleted = deleted[1:]
		}
		if len(deleted) > 0 && deleted[0] == seq && (len(lost) == 0 || lost[0] != seq) {
			continue
		}
		if n := len(missing); n > 0 && missing[n-1].Last+1 == seq {
			missing[n-1].Last = seq
		} else {
			missing = append(missing, Range{seq, seq})
		}
	}
	return missing
}

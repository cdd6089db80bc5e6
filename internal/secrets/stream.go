package secrets

// MaxHeld is how much of a text a [Stream] holds back at most, in bytes: the first part of a
// JSON Web Token, which can be long, and what makes sure that it is one.
const MaxHeld = maxSegment + 32

// Stream masks a text that comes in pieces: joined, what Write and Flush return is the
// [Mask] of the text. Behind the prefix of a credential a part of the text is held back until
// it is decided whether it is one, [MaxHeld] bytes at most. The zero Stream is ready to use.
type Stream struct {
	buf  []byte // what was said last, and what is held back
	said int    // how much of it was returned, or is masked
	in   *kind  // of the credential that said ends in; nil means in none

	masked bool // something was
}

// Masks reports whether something of the text was masked so far.
func (s *Stream) Masks() bool { return s.masked }

// Write takes the next piece, and returns what can be shown of the text. It is the piece
// itself where nothing is masked or held back.
func (s *Stream) Write(piece string) string {
	return s.take(piece, false)
}

// Flush returns what was held back, at the end of the text.
func (s *Stream) Flush() string {
	if s.said == len(s.buf) {
		return ""
	}
	return s.take("", true)
}

func (s *Stream) take(piece string, final bool) string {
	s.makeRoom(len(piece))
	from, held := s.said, len(s.buf)-s.said
	s.buf = append(s.buf, piece...)
	masked := s.in != nil
	var out []byte // where something is masked
	for s.in != nil || s.said < len(s.buf) {
		if s.in != nil {
			at, over := rest(s.buf, s.said, s.in, final)
			if s.said = at; !over {
				break
			}
			s.in, from = nil, at
			continue
		}
		at, k, v := find(s.buf, s.said, final, false)
		if k == nil {
			s.said = len(s.buf)
			break
		}
		if s.said = at; v == maybe {
			break
		}
		out = append(append(out, s.buf[from:at]...), k.mark...)
		masked, s.masked, s.in = true, true, k
	}
	switch {
	case s.in == nil && masked:
		return string(append(out, s.buf[from:s.said]...))
	case masked:
		return string(out)
	case held == 0:
		return piece[:s.said-from]
	}
	return string(s.buf[from:s.said])
}

// makeRoom drops what was said longer ago than any form looks back.
func (s *Stream) makeRoom(n int) {
	if s.buf == nil {
		s.buf = make([]byte, 0, 4*maxBefore)
	}
	if s.said <= maxBefore || len(s.buf)+n <= cap(s.buf) {
		return
	}
	s.buf = s.buf[:copy(s.buf, s.buf[s.said-maxBefore:])]
	s.said = maxBefore
}

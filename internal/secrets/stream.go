package secrets

// MaxHeld bounds how much of a text a [Stream] holds back, in bytes. That is the first
// part of a JSON Web Token, which can be long, and the characters that identify it as
// one.
const MaxHeld = maxSegment + 32

// Stream masks a text that comes in pieces: joined, what Write and Flush return is the
// [Mask] of the text. Behind the prefix of a credential a part of the text is held back until
// it is decided whether it is one, [MaxHeld] bytes at most. The zero Stream is ready to use.
type Stream struct {
	buf   []byte // the text returned last, and the text held back
	shown int    // how much of buf was returned, or is masked
	in    *kind  // of the credential that shown ends in; nil means in none

	masked bool // something was
}

// Masks reports whether something of the text was masked so far.
func (s *Stream) Masks() bool { return s.masked }

// Write takes the next piece, and returns what can be shown of the text. It is the piece
// itself where nothing is masked or held back.
func (s *Stream) Write(piece string) string {
	return s.advance(piece, false)
}

// Flush returns what was held back, at the end of the text.
func (s *Stream) Flush() string {
	if s.shown == len(s.buf) {
		return ""
	}
	return s.advance("", true)
}

func (s *Stream) advance(piece string, final bool) string {
	s.makeRoom(len(piece))
	from, held := s.shown, len(s.buf)-s.shown
	s.buf = append(s.buf, piece...)
	masked := s.in != nil
	var out []byte // where something is masked
	for s.in != nil || s.shown < len(s.buf) {
		if s.in != nil {
			at, over := rest(s.buf, s.shown, s.in, final)
			if s.shown = at; !over {
				break
			}
			s.in, from = nil, at
			continue
		}
		at, k, v := find(s.buf, s.shown, final, false)
		if k == nil {
			s.shown = len(s.buf)
			break
		}
		if s.shown = at; v == maybe {
			break
		}
		out = append(append(out, s.buf[from:at]...), k.mark...)
		masked, s.masked, s.in = true, true, k
	}
	switch {
	case s.in == nil && masked:
		return string(append(out, s.buf[from:s.shown]...))
	case masked:
		return string(out)
	case held == 0:
		return piece[:s.shown-from]
	}
	return string(s.buf[from:s.shown])
}

// makeRoom drops text that was returned longer ago than any form looks back.
func (s *Stream) makeRoom(n int) {
	if s.buf == nil {
		s.buf = make([]byte, 0, 4*maxBefore)
	}
	if s.shown <= maxBefore || len(s.buf)+n <= cap(s.buf) {
		return
	}
	s.buf = s.buf[:copy(s.buf, s.buf[s.shown-maxBefore:])]
	s.shown = maxBefore
}

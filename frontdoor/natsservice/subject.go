package natsservice

import "strings"

// maxReply bounds the subjects on which callers want to be answered, in bytes.
// The server closes the connection of a worker that sends a longer line than it
// takes.
const maxReply = 255

// answerable reports whether the worker publishes on a subject of a caller's
// choice: an inbox, or any subject but the server's own and those of the
// workers. The caller may have fewer rights there than the worker has.
func answerable(subject string) bool {
	if len(subject) > maxReply {
		return false
	}
	for _, reserved := range []string{"$", "agents."} {
		if strings.HasPrefix(subject, reserved) {
			return false
		}
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool {
			return r <= ' ' || r == '*' || r == '>' || r == 0x7f
		}) {
			return false
		}
	}
	return true
}

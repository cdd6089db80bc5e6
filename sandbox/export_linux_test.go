package sandbox

import (
	"context"
	"net"
)

// SetDial has the session's proxy reach all hosts by dial.
func (s *Session) SetDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	s.dial = dial
}

// LookAgain has the next command look anew for what is closed in the system.
func LookAgain() {
	closedLook.Lock()
	defer closedLook.Unlock()
	closedLook.found = nil
}

// SetFolds has all folders take names in any case, or none; restore undoes it.
func SetFolds(folds bool) (restore func()) {
	before := foldsNames
	foldsNames = func(string) bool { return folds }
	return func() { foldsNames = before }
}

// SetMaxGiven bounds the names of a folder that a person has named; restore undoes it.
func SetMaxGiven(n int) (restore func()) {
	before := maxGiven
	maxGiven = n
	return func() { maxGiven = before }
}

//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// Detect looks at what this system offers.
func Detect() Support { return Support{System: runtime.GOOS} }

// Session would run the commands of a session in sandboxes.
type Session struct{ why string }

// Open returns a session that runs nothing, or an error if a sandbox is
// required.
func Open(opts Options) (*Session, error) {
	_, why := Detect().Backend()
	if opts.Mode == Off {
		why = "the sandbox is switched off (--sandbox=off)"
	}
	if opts.Mode == Required {
		return nil, fmt.Errorf("a sandbox is required, and there is none: %s", why)
	}
	return &Session{why: why}, nil
}

// Backend returns "" and why there is none.
func (s *Session) Backend() (Backend, string) { return "", s.why }

// Plan says that nothing is held.
func (s *Session) Plan(*Profile) (*Plan, error) { return &Plan{NotHeld: []string{s.why}}, nil }

// Holds says that nothing is held, and why.
func (s *Session) Holds(*Profile) (bool, []string, error) { return false, []string{s.why}, nil }

// Sweep does nothing: there is nothing that could be left.
func Sweep(string) error { return nil }

// LockNames waits for nothing: no command runs.
func LockNames(string) (unlock func(), err error) { return func() {}, nil }

// Close does nothing.
func (s *Session) Close() error { return nil }

func (s *Session) start(*Command) (*Process, error) {
	return nil, fmt.Errorf("%w: %s", ErrNotHeld, s.why)
}

func (s *Session) startUnheld(*Command) (*Process, error) {
	return nil, fmt.Errorf("%w: %s", ErrNotHeld, s.why)
}

// Process is a command that runs. There is none on this system.
type Process struct{}

var errNone = errors.New("no command runs")

func (*Process) Wait() (State, error)        { return State{}, errNone }
func (*Process) Signal(syscall.Signal) error { return errNone }
func (*Process) Kill()                       {}
func (*Process) Plan() *Plan                 { return &Plan{} }
func (*Process) Refused() []Refusal          { return nil }
func (*Process) Explain(string) []Refusal    { return nil }

package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// Command is a command that goes on in a session's background.
type Command struct {
	ID       string
	Line     string // the command line
	Terminal bool   // it has one
	Since    time.Time
	Last     string // the last line that it has written
	Bytes    int64  // that it has written
	Waits    bool   // for input
}

// String is the command in one line, with what it has written last.
func (c Command) String() string {
	if c.Waits {
		return c.ID + " waits for input: " + c.Last
	}
	return c.ID + " " + cmp.Or(c.Last, c.Line)
}

// Command returns the command that waits for input, or else the last one that was started; nil
// means none runs.
func (s *Session) Command() *Command {
	if c := s.waiting(); c != nil || len(s.Commands) == 0 {
		return c
	}
	return &s.Commands[len(s.Commands)-1]
}

// waiting returns the first command that waits for input; nil means none does.
func (s *Session) waiting() *Command {
	if i := slices.IndexFunc(s.Commands, func(c Command) bool { return c.Waits }); i >= 0 {
		return &s.Commands[i]
	}
	return nil
}

func init() {
	on(func(s *Session, ev event.CommandStart, at time.Time) {
		s.Commands = append(s.Commands, Command{ID: line(ev.CommandID), Line: line(ev.Command), Terminal: ev.TTY, Since: at})
	})
	on(func(s *Session, ev event.CommandProgress, _ time.Time) {
		for i := range s.Commands {
			if c := &s.Commands[i]; c.ID == ev.CommandID {
				c.Last, c.Bytes, c.Waits = line(ev.Line), ev.Bytes, ev.Waits
			}
		}
	})
	on(func(s *Session, ev event.CommandEnd, _ time.Time) {
		s.Commands = slices.DeleteFunc(s.Commands, func(c Command) bool { return c.ID == ev.CommandID })
	})
	on(func(s *Session, _ event.SessionResumed, _ time.Time) { s.Commands = nil }) // they have ended with its process
}

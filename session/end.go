package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/toolcall"
)

// End publishes how the session ended, and returns when all of its events are stored; nothing is
// published after it. status is one that [record.Status.Ended] reports. A session ends once; later
// calls return [record.ErrEnded]. If an event before could not be stored, the session has failed
// whatever status says, and End returns why. The same error comes if the end is not stored in
// time, though it may be stored later. The end of a session comes after those below it, and waits
// for any that the store has not taken.
func (s *Session) End(status record.Status, why error) error {
	if !status.Ended() {
		return fmt.Errorf("session %s cannot end as %q", s.id, status)
	}
	if s.commands != nil {
		if running := s.commands.Running(); len(running) > 0 {
			s.log.Warn("commands in the background ended with the session: " + strings.Join(running, ", "))
		}
		s.commands.End("the end of its session")
	}
	if err := s.log.BeginEnd(); err != nil {
		return err
	}
	toolcall.HooksOf(s.calls).End(string(status))
	defer func() {
		s.p.forget(s.id)
		s.life.End(record.ErrEnded)
		s.calls.EndSession()
		close(s.done)
	}()
	for _, m := range s.inbox.End(func() { s.life.End(errCallerEnded) }) { // no step comes any more
		s.logMessage(m)
	}
	if err := s.p.recovery.endBelow(s.log); err != nil {
		s.log.EndLater(status, why)
		return err
	}
	if total := s.usage.total(); s.parent != nil {
		s.parent.usage.addBelow(total)
	}
	err := s.log.End(status, why, s.calls.Tools.Acts(s.calls.Rules.Agents()))
	if s.Record().Closed {
		s.calls.Audit.End(why)
	}
	return err
}

// StoppedError is why the work of a session ended: somebody has stopped it. It is a
// [context.Canceled].
type StoppedError struct {
	By string // for people: "alice by worker sessions stop"
}

func (e *StoppedError) Error() string { return "stopped by " + e.By }

// StoppedBy says who has stopped the session.
func (e *StoppedError) StoppedBy() string { return e.By }

// Is reports whether target is [context.Canceled].
func (e *StoppedError) Is(target error) bool { return target == context.Canceled }

// stop ends what the session does, and returns when it has ended, or ctx has.
func (s *Session) stop(ctx context.Context, why *StoppedError) error {
	s.life.End(why)
	if s.lasting {
		if err := s.life.Drained(ctx); err != nil {
			return err
		}
		if err := s.End(record.Cancelled, why); err != nil && !errors.Is(err, record.ErrEnded) {
			return err
		}
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// EndRecord returns the audit record of a session that this process has ended because its own
// process had died.
func EndRecord(r *record.Record) audit.Record {
	return audit.Record{
		Kind: audit.SessionEnd, Worker: r.EndedBy, SessionID: r.ID, RootID: r.Path[0].SessionID, Agent: r.Agent,
		Outcome: string(r.Status), Reason: r.Error,
	}
}

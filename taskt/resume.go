package taskt

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/tool"
)

// Resume resumes a session that has ended, in the background of a caller's root session: a new
// session has its conversation, and its agent as that is defined now. The rules that held for
// it hold as well. The run fails if the session or one above it is not stored any more, if it
// has been resumed already, or if there is no such agent now.
func (s *Service) Resume(ctx context.Context, caller *session.Session, r control.Resumption) *Run {
	c, err := s.resumed(ctx, offer.Host, caller, r)
	if err != nil {
		return failedRun(ctx, r.Record.Agent, err)
	}
	return c.start(ctx, caller, nil)
}

// resumeFor returns what resumes sessions below the one that makes a call.
func (s *Service) resumeFor(by offer.Caller) func(ctx context.Context, made *tool.Call, r control.Resumption) (string, error) {
	return func(ctx context.Context, made *tool.Call, r control.Resumption) (string, error) {
		parent, ok := s.sessions.Live(made.SessionID)
		if !ok {
			return "", fmt.Errorf("session %s does not run here", made.SessionID)
		}
		c, err := s.resumed(ctx, by, parent, r)
		if err != nil {
			return "", err
		}
		if err := c.beginBackground(ctx, made); err != nil {
			return "", err
		}
		return c.wait.result.SessionID, c.wait.result.Err
	}
}

// resumed returns the call that resumes a session below a parent.
func (s *Service) resumed(ctx context.Context, by offer.Caller, parent *session.Session, r control.Resumption) (*call, error) {
	before := r.Record
	if before.ParentID == "" {
		return nil, fmt.Errorf("session %s is no subagent's, and can't be resumed", before.ID)
	}
	t, err := readTerms(ctx, s.sessions.Store(), before.Path)
	if err != nil {
		return nil, err
	}
	in := t.input()
	in.AgentType, in.Description, in.Prompt, in.Background = before.Agent, before.Description, r.Prompt, new(true)
	in.Cleanup = "" // it is in use again
	from := &resumption{record: before, assignment: r.Assignment, opened: r.Opened}
	from.assignment.Role = cmp.Or(r.Assignment.Role, before.Role)
	from.ID, from.Path, from.Model, from.MessageID = before.ID, before.Path, before.Model, r.MessageID
	if from.Messages, err = s.sessions.Store().Transcripts.ConversationTo(ctx, before.ID, r.FromStep); err != nil {
		return nil, err
	}
	from.FromStep = r.FromStep
	if err := from.readAbove(ctx, s.sessions.Store(), t, parent); err != nil {
		return nil, err
	}
	c := s.prepare(by, in)
	c.child.from = from
	return c, nil
}

// resumeRoot makes the session of a primary agent resume that of a record.
func resumeRoot(ctx context.Context, sessions *store.Store, spec *session.Spec, before *record.Record) error {
	if before.ParentID != "" || before.Agent == "" {
		return fmt.Errorf("session %s is not that of a primary agent", before.ID)
	}
	t, err := readTerms(ctx, sessions, before.Path)
	if err != nil {
		return err
	}
	rules, err := t.ruleset(before.ID)
	if err != nil {
		return err
	}
	messages, err := sessions.Transcripts.Conversation(ctx, before.ID)
	if err != nil {
		return err
	}
	spec.ID = record.ResumedID(before.ID)
	spec.Resumes = &session.Resumed{ID: before.ID, Path: before.Path, Model: before.Model, Messages: messages, Within: []*permission.Ruleset{rules}}
	return nil
}

package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/session/record"
)

// maxTargets bounds the sessions that one call names.
const maxTargets = 1000

// checkTargets checks how a call names sessions: one, several, or all that run.
func checkTargets(several []string) error {
	switch {
	case len(several) > maxTargets:
		return fmt.Errorf("sessionIds has %d ids, more than %d", len(several), maxTargets)
	case slices.Contains(several, ""):
		return errors.New("sessionIds has an empty id")
	}
	return nil
}

// named returns the ids that a call names.
func named(one string, several []string) []string {
	if one != "" {
		return append(slices.Clip(several), one)
	}
	return several
}

// WaitInput is what task_wait takes: the fields of its schema.
type WaitInput struct {
	SessionID      string   `json:"sessionId"`
	SessionIDs     []string `json:"sessionIds"`
	Until          string   `json:"until"`
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
}

// Sessions returns the ids that the call names; none: all that run.
func (in *WaitInput) Sessions() []string { return named(in.SessionID, in.SessionIDs) }

// MaxWait is the longest time that task_wait takes: no subagent runs longer.
const MaxWait = 24 * time.Hour

// Check returns what is wrong with the arguments.
func (in *WaitInput) Check() error {
	if err := checkTargets(in.SessionIDs); err != nil {
		return err
	}
	if s := in.TimeoutSeconds; s != nil && !(*s >= 0 && *s <= MaxWait.Seconds()) {
		return fmt.Errorf("timeoutSeconds %v is not within 0 and %v", *s, MaxWait.Seconds())
	}
	switch in.Until {
	case "", "all", "any":
		return nil
	}
	return fmt.Errorf("until %.40q is neither \"all\" nor \"any\"", in.Until)
}

// Waited is the answer of task_wait.
type Waited struct {
	Sessions []State    `json:"sessions"` // the ones it waited for
	Results  []Document `json:"results"`  // of the ones that have ended
	Running  int        `json:"running"`  // how many have not

	texts []string // the results, as models read them
}

func (in *WaitInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	records, err := c.some(ctx, scope, in.Sessions())
	if err != nil {
		return nil, err
	}
	if err := c.wait(ctx, records, in); err != nil {
		return nil, err
	}
	waited := &Waited{Results: []Document{}}
	for i, r := range records {
		if records[i], err = c.store.Index.Get(ctx, r.ID); err != nil {
			return nil, err
		}
		if !records[i].Status.Ended() {
			waited.Running++
			continue
		}
		if r.ParentID == "" { // a caller's session: it has no result
			continue
		}
		result, err := c.ResultOf(ctx, records[i])
		if err != nil {
			return nil, err
		}
		if err := c.store.Retention.NoteRead(ctx, records[i]); err != nil {
			return nil, err
		}
		waited.Results = append(waited.Results, result.Document())
		waited.texts = append(waited.texts, result.ForModel())
	}
	waited.Sessions, err = c.states(ctx, records)
	return waited, err
}

// wait returns when the sessions have ended, or one of them, or the time is over.
func (c *Control) wait(ctx context.Context, records []*record.Record, in *WaitInput) error {
	waiting := ctx
	if in.TimeoutSeconds != nil {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, time.Duration(*in.TimeoutSeconds*float64(time.Second)))
		defer cancel()
	}
	waiting, enough := context.WithCancel(waiting)
	defer enough()
	var others sync.WaitGroup
	defer others.Wait()
	ended := make(chan error, len(records))
	for _, r := range records {
		if r.Status.Ended() {
			ended <- nil
			continue
		}
		others.Go(func() { ended <- c.awaitEnd(waiting, r) })
	}
	for range records {
		err := <-ended
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case waiting.Err() != nil: // the time is over
			return nil
		case err != nil:
			enough()
			return fmt.Errorf("waiting for subagents: %w", err)
		case in.Until == "any":
			enough()
			return nil
		}
	}
	return nil
}

// awaitEnd returns when the last event of a session is stored.
func (c *Control) awaitEnd(ctx context.Context, r *record.Record) error {
	_, stream, err := c.store.Approvals.FollowNew(ctx, r.Path)
	if err != nil {
		return err
	}
	for _, err := range stream {
		if err != nil {
			return err
		}
	}
	return nil
}

// Answer implements [Answer].
func (w *Waited) Answer() string {
	if len(w.Sessions) == 0 {
		return "No subagent runs."
	}
	if len(w.Sessions) == 1 && len(w.Results) == 1 {
		return w.texts[0]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d run, %d have ended:\n%s", w.Running, len(w.Sessions)-w.Running, lines(w.Sessions))
	for i, doc := range w.Results {
		fmt.Fprintf(&b, "\nSession %s:\n%s\n", doc.SessionID, w.texts[i])
	}
	return strings.TrimSpace(b.String())
}

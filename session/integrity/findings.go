package integrity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
)

const (
	rebuildAdvice = "'worker doctor --rebuild' makes the index anew from the logs"
	ackAdvice     = "restore the state folder from a copy, or remove nats/losses.json in it to be told no more"
)

// lossAdvice says what to do about what a stream has lost.
var lossAdvice = map[string]string{
	"KV_" + index.BucketName:    "records of sessions: " + rebuildAdvice,
	"KV_" + approval.BucketName: "questions of agents, and their answers: what waited is asked again or ends with its session; " + ackAdvice,
	"KV_" + lease.BucketName:    "signs of life of processes, which are written anew: remove nats/losses.json in the state folder",
	eventbus.Stream:             "events of sessions: " + ackAdvice,
	eventbus.PayloadStream:      "content of large events: " + ackAdvice,
}

// adviceOn returns what to do about what a stream has lost.
func adviceOn(stream string) string {
	return cmp.Or(lossAdvice[stream], "records of the audit log, or of a stream that this worker does not know: "+ackAdvice)
}

// findings completes what [Checker.Check] has found. begun has the first sequence number of
// each session's log.
func (c *Checker) findings(ctx context.Context, check *Check, stored map[string]index.Stored, begun map[string]uint64, losses []eventbus.Loss) error {
	check.Findings = []Finding{}
	add := func(f Finding) { check.Findings = append(check.Findings, f) }
	if len(check.Missing) > 0 {
		add(Finding{Kind: MissingFinding, Text: fmt.Sprintf("%d sessions are not in the index", len(check.Missing)), Advice: rebuildAdvice, Sessions: check.Missing})
	}
	if len(check.Behind) > 0 {
		add(Finding{Kind: BehindFinding, Text: fmt.Sprintf("%d sessions have ended, and have not in the index", len(check.Behind)), Advice: rebuildAdvice, Sessions: check.Behind})
	}
	oldest, err := c.oldest(ctx)
	if err != nil {
		return err
	}
	incompletes := make(map[string]*IncompleteError)
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		r := stored[id].Record
		if !r.Closed {
			continue
		}
		if begun[id] > 0 && len(losses) == 0 {
			continue // nothing was lost since: its end is behind its beginning
		}
		end, err := c.bus.Last(ctx, r.Path, event.SessionEnd{}.Type())
		if err != nil {
			return err
		}
		if i := incomplete(r, begun[id], end.Seq, true, losses, oldest); i != nil {
			incompletes[id] = i
		}
	}
	for _, l := range losses {
		f := Finding{Kind: LossFinding, Text: l.String(), Advice: adviceOn(l.Stream), Loss: &l}
		for _, id := range slices.Sorted(maps.Keys(incompletes)) {
			if slices.Contains(incompletes[id].Losses, l) {
				f.Sessions = append(f.Sessions, id)
			}
		}
		add(f)
	}
	for _, id := range slices.Sorted(maps.Keys(incompletes)) {
		add(Finding{
			Kind: IncompleteFinding, Text: fmt.Sprintf("session %s: %s", id, incompletes[id].Error()), Sessions: []string{id},
			Advice: "what is there: 'worker events " + id + " --stored'; to remove it: 'worker sessions delete " + id + "'",
		})
	}
	for e, err := range c.bus.MissingPayloads(ctx, check.from) {
		if err != nil {
			return err
		}
		add(Finding{
			Kind: PayloadFinding, Seq: e.Seq, Text: fmt.Sprintf("the content of event %d (%s) is not in the object store any more", e.Seq, e.Kind),
			Advice: "restore the state folder from a copy; without it the event stays as it is, marked as missing",
		})
	}
	return nil
}

package integrity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Rebuild makes the records in the bucket again from the sessions' logs, and returns how
// many it has changed or added. The record of a running session stays with its process.
// Records without a log stay unchanged.
func (c *Checker) Rebuild(ctx context.Context) (changed int, err error) {
	c.index.Settle(ctx, "")
	stored, err := c.index.All(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err == nil { // the index is complete again, as far as the logs are
			err = c.bus.Election().Acknowledge("KV_" + index.BucketName)
		}
	}()
	for e, err := range c.bus.Entries(ctx, log.OpenedKind, time.Time{}) {
		if err != nil {
			return changed, err
		}
		r, err := log.DecodeOpened(log.Entry(e))
		if err != nil {
			return changed, err
		}
		done, err := c.rebuild(ctx, r, stored[r.ID])
		switch {
		case errors.Is(err, index.ErrConflict): // its process has written it meanwhile
		case err != nil:
			return changed, fmt.Errorf("rebuilding the record of session %s: %w", r.ID, err)
		case done:
			changed++
		}
	}
	return changed, c.index.MarkAll(ctx)
}

// rebuild makes the record of one session from its log. has is what is stored now.
func (c *Checker) rebuild(ctx context.Context, opened *record.Record, has index.Stored) (changed bool, err error) {
	state, err := c.index.State(ctx, opened.Path)
	if err != nil {
		return false, err
	}
	r := &state.Record
	if has.Record != nil && !r.Closed {
		return false, nil
	}
	if has.Record != nil {
		is, err := json.Marshal(has.Record)
		if err != nil {
			return false, err
		}
		if want, err := json.Marshal(r); err != nil || bytes.Equal(is, want) {
			return false, err
		}
	}
	_, err = c.index.Update(ctx, r, has.Rev)
	return err == nil, err
}

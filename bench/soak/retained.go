package main

import (
	"fmt"
	"time"
)

const (
	// keptFor is how long the sessions of the campaign are kept: the shortest that there is.
	keptFor = time.Minute

	// retentionEvery is how often a worker looks for what is kept no longer.
	retentionEvery = time.Minute
)

// retained makes calls without a pause, whose sessions are kept for a minute. Deletion
// keeps up with them, and leaves nothing.
func retained(r *run) error {
	f, err := r.newFleet(shape{words: 5, pause: time.Millisecond})
	if err != nil {
		return err
	}
	f.serving = []string{"--retain-age", keptFor.String()}
	if err := f.withoutPause(0); err != nil {
		return err
	}
	for _, c := range f.calls {
		switch {
		case c.wrong != nil:
			f.broke("%v", c.wrong)
		case c.document != nil && c.document.Status != "completed":
			f.broke("session %s is %s: %s", c.root, c.document.Status, c.document.Error)
		}
	}
	return f.emptied()
}

// emptied waits until all sessions are deleted, and checks that nothing of them is left.
func (f *fleet) emptied() error {
	began := time.Now()
	most := -1
	for {
		kept, err := f.listed()
		if err != nil {
			return err
		}
		if most < 0 {
			most = len(kept)
		}
		if len(kept) == 0 {
			break
		}
		if time.Since(began) > keptFor+retentionEvery+patience {
			return fmt.Errorf("%d sessions are still kept %s after the last task", len(kept), time.Since(began).Round(time.Second))
		}
		if !f.pause(time.Second) {
			return f.ctx.Err()
		}
	}
	f.figure("%d sessions kept behind the last task, none %s later", most, time.Since(began).Round(time.Second))
	f.doctor()
	ctx, cancel := f.within(patience)
	defer cancel()
	s, err := readStore(ctx, f.store)
	if err != nil {
		return err
	}
	if s.events > 0 {
		f.broke("%d events of sessions that were deleted are still stored", s.events)
	}
	return nil
}

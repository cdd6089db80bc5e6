package session_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// TestListWhileTheyChange: a list has every session once, however busily they
// change at the moment.
func TestListWhileTheyChange(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	var all []record.Record
	for range 4 {
		all = append(all, e.open(session.Spec{}).Record())
	}
	done := make(chan struct{})
	var writers sync.WaitGroup
	for _, r := range all {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					r.Description = strconv.Itoa(i)
					e.store(r)
				}
			}
		})
	}
	for range 100 {
		records, err := e.Store().Index.List(t.Context())
		if err != nil {
			t.Error(err)
			break
		}
		seen := make(map[string]bool)
		for _, r := range records {
			seen[r.ID] = true
		}
		if len(seen) != len(all) || len(records) != len(all) {
			t.Errorf("the list has %d records of %d sessions, want %d", len(records), len(seen), len(all))
			break
		}
	}
	close(done)
	writers.Wait()
}

package eventbus_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestFullDiskEvents: on a full disk sessions wait for room. If it comes, they continue
// without a gap or a duplicate. Otherwise they fail with the reason, in every process. Later
// ones work once there is room.
func TestFullDiskEvents(t *testing.T) {
	t.Parallel() // it waits, most of its time
	disk, here := natstest.SmallDisk(t, "24m")
	if !here {
		return
	}
	dir := filepath.Join(disk, "nats")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	buses := []*eventbus.Bus{openBus(t, dir), openBus(t, dir)}
	text := strings.Repeat("x", 8<<10)
	// publish publishes events of a session until one is not stored within a second.
	publish := func(p *eventbus.Publisher) (events int) {
		for {
			attempt, stop := context.WithTimeout(ctx, time.Second)
			err := p.Publish(attempt, event.ContentDelta{Delta: text, Offset: events})
			if err == nil {
				events++
				err = p.Flush(attempt)
			}
			stop()
			if err != nil {
				return events
			}
		}
	}
	for _, tt := range []struct {
		session string
		waits   bool // for longer than a session does
	}{{"short", false}, {"long", true}, {"short2", false}} {
		free := natstest.Fill(t, disk, 1<<20)
		var working sync.WaitGroup
		full := make(chan struct{}, len(buses))
		freed := make(chan struct{})
		for i, bus := range buses {
			path := event.Path{{SessionID: tt.session + string(rune('a'+i))}}
			p := publisher(t, bus, path)
			working.Go(func() {
				events := publish(p)
				full <- struct{}{}
				if tt.waits {
					if err := p.Flush(ctx); err == nil || !strings.Contains(err.Error(), "no space left on device") {
						t.Errorf("bus %d: %v, want that the disk is full", i, err)
					}
					full <- struct{}{}
					return
				}
				<-freed
				if err := p.Flush(ctx); err != nil {
					t.Errorf("bus %d does not go on: %v", i, err)
					return
				}
				if err := errors.Join(p.Publish(ctx, event.ContentDelta{Delta: text, Offset: events}), p.Flush(ctx)); err != nil {
					t.Errorf("bus %d does not go on: %v", i, err)
				}
				stored := replay(t, bus, path, 0)
				if len(stored) != events+1 {
					t.Errorf("bus %d: %d events are stored, want %d", i, len(stored), events+1)
				}
				for n, d := range stored {
					if ev, err := event.Decode(d.Raw); err != nil || ev.(event.ContentDelta).Offset != n {
						t.Errorf("bus %d: event %d is %.80s, %v", i, n, d.Raw, err)
						return
					}
				}
			})
		}
		for range buses {
			<-full
		}
		if tt.waits {
			for range buses {
				<-full
			}
		}
		free()
		close(freed)
		working.Wait()
	}
}

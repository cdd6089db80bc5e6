package storefiles

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestServerDoesNoDamage: a server does to its files whatever a server does, while a
// Monitor looks at them without a pause. None of it is damage.
func TestServerDoesNoDamage(t *testing.T) {
	took := 4 * time.Second
	if os.Getenv("SOAK") != "" {
		took = 5 * time.Minute
	}
	srv := startServer(t, 50*time.Millisecond)
	c := &campaign{t: t, js: srv.js, random: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))}
	for _, name := range []string{"EVENTS", "AUDIT", "SHORT", "GONE"} {
		c.make(name)
	}
	c.bucket()
	k := srv.monitor(t)
	ctx, stop := context.WithTimeout(t.Context(), took)
	defer stop()
	var running sync.WaitGroup
	looks := 0
	running.Go(func() {
		for ctx.Err() == nil {
			if err := k.look(); err != nil {
				t.Log(err) // a stream was purged or deleted meanwhile: the next look finds what there is
			}
			looks++
		}
	})
	running.Go(func() {
		for i := uint64(1); ctx.Err() == nil; i++ {
			for _, name := range []string{"EVENTS", "AUDIT", "SHORT"} {
				c.read(name, i)
			}
		}
	})
	rounds := 0
	for ; ctx.Err() == nil; rounds++ {
		c.round(rounds)
	}
	running.Wait()
	if err := srv.damage(); err != nil {
		t.Errorf("it is taken for damage: %v", err)
	}
	if losses := srv.close(t, k); len(losses) > 0 {
		t.Error(losses)
	}
	t.Logf("%d rounds, %d looks, %d questions", rounds, looks, srv.questions.Load())
}

// campaign is what is done to a server.
type campaign struct {
	t      *testing.T
	js     jetstream.JetStream
	random *rand.Rand
	kv     jetstream.KeyValue
}

// small has the server begin a new block every 32 KB while it runs.
func small(cfg jetstream.StreamConfig, js jetstream.JetStream) (jetstream.Stream, error) {
	ctx := context.Background()
	cfg.MaxBytes = 100_000
	if _, err := js.CreateStream(ctx, cfg); err != nil {
		return nil, err
	}
	cfg.MaxBytes = -1
	return js.UpdateStream(ctx, cfg)
}

func (c *campaign) make(name string) {
	c.t.Helper()
	cfg := jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, AllowDirect: true}
	if name == "SHORT" {
		cfg.MaxAge = 500 * time.Millisecond
	}
	if _, err := small(cfg, c.js); err != nil {
		c.t.Fatal(err)
	}
}

func (c *campaign) bucket() {
	c.t.Helper()
	_, err := small(jetstream.StreamConfig{
		Name: "KV_B", Subjects: []string{"$KV.B.>"}, MaxMsgsPerSubject: 1, AllowDirect: true, AllowRollup: true, DenyDelete: true, Discard: jetstream.DiscardNew,
	}, c.js)
	if err == nil {
		c.kv, err = c.js.KeyValue(c.t.Context(), "B")
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// round does each thing once: some of what is stored stays.
func (c *campaign) round(n int) {
	ctx := context.Background()
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	for _, name := range []string{"EVENTS", "AUDIT", "SHORT", "GONE"} {
		for range 10 + c.random.IntN(10) {
			_, err := c.js.Publish(ctx, fmt.Sprintf("%s.%d", name, c.random.IntN(20)), make([]byte, 2000+c.random.IntN(6000)))
			do(err)
		}
	}
	for range 20 {
		_, err := c.kv.Put(ctx, fmt.Sprintf("k%d", c.random.IntN(30)), make([]byte, c.random.IntN(6000)))
		do(err)
	}
	do(c.kv.Purge(ctx, fmt.Sprintf("k%d", c.random.IntN(30))))
	events, err := c.js.Stream(ctx, "EVENTS")
	do(err)
	do(events.Purge(ctx, jetstream.WithPurgeSubject(fmt.Sprintf("EVENTS.%d", c.random.IntN(20)))))
	info, err := events.Info(ctx)
	do(err)
	for range 3 {
		seq := info.State.FirstSeq + c.random.Uint64N(info.State.LastSeq-info.State.FirstSeq+1)
		for _, remove := range []func(context.Context, uint64) error{events.DeleteMsg, events.SecureDeleteMsg}[c.random.IntN(2):] {
			_ = remove(ctx, seq) // an error: it is not there any more
			break
		}
	}
	audit, err := c.js.Stream(ctx, "AUDIT")
	do(err)
	info, err = audit.Info(ctx)
	do(err)
	do(audit.Purge(ctx, jetstream.WithPurgeSequence(info.State.LastSeq-min(info.State.LastSeq, c.random.Uint64N(60)))))
	switch removed, err := c.js.Stream(ctx, "GONE"); {
	case err != nil:
		do(err)
	case n%7 == 6:
		do(c.js.DeleteStream(ctx, "GONE"))
		c.make("GONE")
	case n%3 == 2:
		do(removed.Purge(ctx))
	}
	if n%20 == 19 {
		do(events.Purge(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		c.t.Error(err)
	}
}

// read has the server read a block.
func (c *campaign) read(name string, seq uint64) {
	stream, err := c.js.Stream(context.Background(), name)
	if err != nil {
		return
	}
	if info := stream.CachedInfo(); info.State.Msgs > 0 {
		seq = info.State.FirstSeq + seq*7%(info.State.LastSeq-info.State.FirstSeq+1)
		_, _ = stream.GetMsg(context.Background(), seq) // an error: it was deleted
	}
}

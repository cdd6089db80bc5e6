package slots_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/taskt/slots"
)

// fakePeers are other workers that reply to each offer in turn, and then as the
// last time.
type fakePeers struct {
	replies    []slots.Reply
	err        error // of an offer, instead of a reply
	silent     bool  // an offer is answered by the end of its time
	offered    int
	advertised bool
}

func (p *fakePeers) Offer(ctx context.Context, _ string) (slots.Reply, error) {
	p.offered++
	if p.silent {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return p.replies[min(p.offered, len(p.replies))-1], p.err
}

func (p *fakePeers) Advertise(free bool) error {
	p.advertised = free
	return nil
}

// fakeLoad is a worker of two slots.
type fakeLoad struct{ running atomic.Int32 }

func (l *fakeLoad) load() slots.Load { return slots.Load{Capacity: 2, Running: int(l.running.Load())} }

func newDispatcher(t *testing.T, load *fakeLoad, peers *fakePeers) *slots.Dispatcher[string] {
	t.Helper()
	d := slots.NewDispatcher(load.load, peers, slog.New(slog.DiscardHandler))
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	return d
}

// entered is what Enter returned, and after how long.
type entered struct {
	here  bool
	err   error
	after time.Duration
}

// enter begins to find a slot for a call.
func enter(d *slots.Dispatcher[string]) <-chan entered {
	done, start := make(chan entered, 1), time.Now()
	go func() {
		here, err := d.Enter("a call")
		done <- entered{here, err, time.Since(start)}
	}()
	return done
}

// TestDispatcherSlots: calls run here while a slot is free, those of other front
// doors counted, and as long the other workers may hand calls on.
func TestDispatcherSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load, peers := new(fakeLoad), &fakePeers{replies: []slots.Reply{slots.Accepted}}
		d := newDispatcher(t, load, peers)
		for _, advertised := range []bool{true, false} {
			if !peers.advertised {
				t.Error("a free slot is not advertised")
			}
			if got := <-enter(d); !got.here || got.err != nil || peers.offered > 0 {
				t.Errorf("%+v and %d offers, though a slot is free", got, peers.offered)
			}
			if d.TryEnter() != advertised {
				t.Errorf("another worker's call: want %v", advertised)
			} else if advertised {
				d.Leave()
			}
		}
		if peers.advertised {
			t.Error("a slot is advertised, and none is free")
		}
		if got := <-enter(d); got.here || got.err != nil || peers.offered != 1 {
			t.Errorf("%+v and %d offers, want it handed on with one", got, peers.offered)
		}
		d.Leave()
		d.Leave()
		load.running.Store(2)
		if got := <-enter(d); got.here || got.err != nil || peers.advertised {
			t.Errorf("%+v, advertised %v, want it handed on: the slots are taken by others", got, peers.advertised)
		}
	})
}

// TestDispatcherWait: a call for which no worker has a slot goes to the first that becomes
// free, here or elsewhere. The dispatcher finds it unasked too.
func TestDispatcherWait(t *testing.T) {
	for name, tt := range map[string]struct {
		free  func(*slots.Dispatcher[string], *fakeLoad, *fakePeers)
		here  bool
		after time.Duration
	}{
		"a call leaves": {func(d *slots.Dispatcher[string], l *fakeLoad, _ *fakePeers) {
			l.running.Store(1)
			d.Leave()
		}, true, 500 * time.Millisecond},
		"another worker is free": {func(d *slots.Dispatcher[string], _ *fakeLoad, p *fakePeers) {
			p.replies = []slots.Reply{slots.Accepted}
			d.Wake()
		}, false, 500 * time.Millisecond},
		"a slot is free, and nothing says so": {func(_ *slots.Dispatcher[string], l *fakeLoad, _ *fakePeers) {
			l.running.Store(1)
		}, true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load, peers := new(fakeLoad), &fakePeers{replies: []slots.Reply{slots.NoPeer}}
				d := newDispatcher(t, load, peers)
				d.TryEnter()
				load.running.Store(2)
				done := enter(d)
				<-time.After(500 * time.Millisecond)
				synctest.Wait()
				tt.free(d, load, peers)
				if got := <-done; got.here != tt.here || got.err != nil || got.after != tt.after {
					t.Errorf("%+v, want here %v after %v", got, tt.here, tt.after)
				}
			})
		})
	}
}

// TestDispatcherOffers: a call is offered again where the worker asked has just
// become full, and never to a second one where the first is silent.
func TestDispatcherOffers(t *testing.T) {
	cut := errors.New("cut off")
	for name, tt := range map[string]struct {
		peers   *fakePeers
		offered int
		err     error
		after   time.Duration
	}{
		"full, then taken": {&fakePeers{replies: []slots.Reply{slots.Full, slots.Full, slots.Accepted}}, 3, nil, 0},
		"full for long":    {&fakePeers{replies: append(slices.Repeat([]slots.Reply{slots.Full}, 8), slots.Accepted)}, 9, nil, time.Second},
		"silent":           {&fakePeers{silent: true}, 1, slots.ErrLost, 10 * time.Second},
		"an error":         {&fakePeers{replies: []slots.Reply{slots.NoPeer}, err: cut}, 1, slots.ErrLost, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load := new(fakeLoad)
				load.running.Store(2)
				d := newDispatcher(t, load, tt.peers)
				if got := <-enter(d); got.here || !errors.Is(got.err, tt.err) || got.after != tt.after || tt.peers.offered != tt.offered {
					t.Errorf("%+v after %d offers, want %v after %v and %d", got, tt.peers.offered, tt.err, tt.after, tt.offered)
				}
			})
		})
	}
}

// TestDispatcherClose: the calls that wait are sent away, the one that is being
// offered among them, and no slot is given or advertised any more.
func TestDispatcherClose(t *testing.T) {
	for name, peers := range map[string]*fakePeers{
		"waiting": {replies: []slots.Reply{slots.NoPeer}},
		"offered": {silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				load := new(fakeLoad)
				load.running.Store(2)
				d := newDispatcher(t, load, peers)
				first, second := enter(d), enter(d)
				synctest.Wait()
				load.running.Store(0)
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				for _, done := range []<-chan entered{first, second} {
					if got := <-done; got.here || !errors.Is(got.err, slots.ErrClosed) || got.after > 0 {
						t.Errorf("%+v, want it sent away at once", got)
					}
				}
				if d.TryEnter() || peers.advertised {
					t.Error("a slot is given or advertised after the end")
				}
			})
		})
	}
}

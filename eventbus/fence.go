package eventbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// FenceKind is the kind of the entries of a session's log that [Bus.Fence] stores.
const FenceKind = "fence"

// Fence sees to it that no process begins a session any more directly below the one at the
// end of path, but one that has [Bus.Opener] know of it: whatever had begun when it returns
// is stored. What was on its way is refused, and its publisher has an [ErrEnded]. The session
// itself goes on. owner is the process that is thought to have the session: the error is
// [ErrEnded] where another one has taken it over, or it has ended.
func (b *Bus) Fence(ctx context.Context, path event.Path, owner string) error {
	err := b.fence(ctx, path, owner)
	for natsstore.Expected(err) && ctx.Err() == nil { // something of the session is being stored
		pause(ctx, repairPause)
		err = b.fence(ctx, path, owner)
	}
	if IsConflict(err) {
		err = ErrEnded
	}
	if err != nil {
		return fmt.Errorf("ending what begins below session %s: %w", path[len(path)-1].SessionID, err)
	}
	return nil
}

func (b *Bus) fence(ctx context.Context, path event.Path, owner string) error {
	p, err := b.Publisher(path)
	if err != nil {
		return err
	}
	subject, err := b.fenceSubject(path)
	if err != nil {
		return err
	}
	last, err := b.events.GetLastMsgForSubject(ctx, p.endSubject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return err
	default:
		raw, err := event.Strip(last.Data, len(path)-1)
		if err != nil {
			return err
		}
		ev, err := event.Decode(raw)
		if err != nil {
			return err
		}
		if resumed, ok := ev.(event.SessionResumed); !ok || resumed.BootID != owner {
			return ErrEnded
		}
		p.since = last.Sequence
	}
	m := &nats.Msg{Subject: subject, Data: []byte("{}")}
	if b.writer.fences {
		m.Header = p.unended()
	}
	_, err = b.JetStream().PublishMsg(ctx, m, jetstream.WithMsgID(p.idPrefix()+"1")) // the only one of a publisher of its own
	return err
}

// fenceSubject is where [Bus.Fence] stores its entries.
func (b *Bus) fenceSubject(path event.Path) (string, error) {
	log, err := b.logSubject(path)
	return log + "." + FenceKind, err
}

// Opener is [Bus.Publisher] for a new session. That above it, if there is one, has a
// publisher in this process (nil: it does not run), and its log has its last [FenceKind] entry
// under a sequence number; 0 means it has none. The first that the new session publishes is
// refused, and so all, once there is a later one, or if the publisher above was refused itself.
func (b *Bus) Opener(path event.Path, above *Publisher, fence uint64) (*Publisher, error) {
	p, err := b.Publisher(path)
	if err != nil || len(path) == 1 {
		return p, err
	}
	p.above, p.aboveFence = above, fence
	p.aboveSubject, err = b.fenceSubject(path[:len(path)-1])
	return p, err
}

// opens reports whether the entry is the first one of a session below another one.
func (e *entry) opens() bool { return e.number == 1 && e.p.aboveSubject != "" }

// orphaned ends the publisher of an entry that opens a session where nothing is stored any
// more of the one above. The caller holds the writer's mu.
func (e *entry) orphaned() {
	if above := e.p.above; e.opens() && above != nil && above.err != nil {
		_ = e.p.end(above.err)
	}
}

// guard returns on which subject nothing may be stored behind a sequence number for the
// entry to be stored.
func (e *entry) guard() (subject string, last uint64) {
	if e.opens() {
		return e.p.aboveSubject, e.p.aboveFence
	}
	return e.p.endSubject, e.p.since
}

// guards returns the headers that demand what guard says.
func (e *entry) guards() nats.Header {
	if !e.opens() {
		return e.p.unended()
	}
	return expect(e.guard())
}

func expect(subject string, last uint64) nats.Header {
	return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(last, 10)}, jetstream.ExpectedLastSubjSeqSubjHeader: {subject}}
}

package eventbus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// A fence is an entry of a session's log. It has a subject of its own, and most sessions have
// none. The store refuses an event of a session if there is a later fence than its publisher
// knows. It refuses the first event of a session right below it, too. Of the entries of a
// session in one batch, only the first has that check. It also names the batch. So once a
// process has stored a fence, and ended the batch that may be on its way, nothing is stored
// any more for those who had the session before. The process checks whether the session has
// ended. If it has not, the process ends it or resumes it.

// Fence is the content of an entry of [FenceKind].
type Fence struct {
	ID    string `json:"id"`    // no other fence has it
	Owner string `json:"owner"` // the boot id of the process that has the session
	By    string `json:"by"`    // that of the process that has stored the fence
}

// ByOther reports whether a process has stored the fence to end what another one has.
func (f Fence) ByOther() bool { return f.By != f.Owner }

// Fence stores a fence in the log of the session at the end of path. owner is the process that
// is believed to run the session. The error is [ErrEnded] where another process has taken the
// session over, or it has ended.
func (b *Bus) Fence(ctx context.Context, path event.Path, owner, by string) error {
	p, err := b.Publisher(path)
	if err != nil {
		return err
	}
	for {
		err := p.fence(ctx, owner, by)
		switch {
		case err == nil:
			return nil
		case !IsConflict(err) || ctx.Err() != nil:
			return fmt.Errorf("storing a fence of session %s: %w", p.sessionID, err)
		}
		pause(ctx, repairPause) // something of the session is being stored, or another fence is
	}
}

func (p *Publisher) fence(ctx context.Context, owner, by string) error {
	_, ended, err := p.lastOfTurns(ctx)
	if err != nil {
		return err
	}
	last, f, err := p.lastFence(ctx)
	if err == nil && (ended || f.Owner != "" && f.Owner != owner) {
		err = ErrEnded
	}
	if err != nil {
		return err
	}
	_, _, err = p.fenceOff(ctx, Fence{Owner: owner, By: by}, p.fenceSubject, last)
	return err
}

// Take returns a publisher of the session at the end of path, after storing a fence. The
// session has not ended, and nothing that others publish in it is stored any more. known is
// the sequence number of the last fence of its log; 0 means it has no fence. The error is
// [ErrEnded] if there is a later one, or the session has ended. by is this process, and owner
// the one that has the session from now on.
func (b *Bus) Take(ctx context.Context, path event.Path, known uint64, owner, by string) (*Publisher, error) {
	p, err := b.Publisher(path)
	if err != nil {
		return nil, err
	}
	f, began := Fence{Owner: owner, By: by}, time.Now()
	for {
		fenced, again, err := p.takeUnended(ctx, known, f)
		switch {
		case IsConflict(err) && ctx.Err() == nil: // Another process publishes in it. The next attempt follows a fence.
			pause(ctx, repairPause)
			fenced, _, err = p.fenceOff(ctx, f, p.fenceSubject, known)
			if again = true; IsConflict(err) {
				continue
			}
		case errors.Is(err, errBehind) && ctx.Err() == nil && time.Since(began) < p.writer.store.AckTimeout():
			pause(ctx, behindPause)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("taking session %s: %w", p.sessionID, err)
		}
		known = fenced
		if !again {
			p.known = known
			return p, nil
		}
	}
}

// takeUnended stores a fence if there is none behind known, and the session has not ended.
// The store refuses it where the session's end, or another event of its turns, is stored
// between the look and the fence. again: see [Publisher.fenceOff].
func (p *Publisher) takeUnended(ctx context.Context, known uint64, f Fence) (seq uint64, again bool, err error) {
	turn, ended, err := p.lastOfTurns(ctx)
	if err != nil {
		return 0, false, err
	}
	fence, _, err := p.lastFence(ctx)
	switch {
	case err != nil:
	case ended, fence > known, fence < known && !p.writer.cluster:
		err = ErrEnded
	case fence < known:
		err = errBehind
	}
	if err != nil {
		return 0, false, err
	}
	return p.fenceOff(ctx, f, p.turnSubject, turn)
}

// lastOfTurns returns the sequence number of the last event of the session's turns, and
// whether that is the session's end; 0 means there is no event.
func (p *Publisher) lastOfTurns(ctx context.Context) (seq uint64, ended bool, err error) {
	last, err := lastOf(ctx, p.writer.events, []string{p.turnSubject})
	if err != nil || last == nil {
		return 0, false, err
	}
	raw, err := event.Strip(last.Data, len(p.after)) // which has a brace for each envelope
	return last.Sequence, event.TypeOf(raw) == (event.SessionEnd{}).Type(), err
}

// fenceOff is [Publisher.storeFence], after which nothing more is stored of what others have
// sent. again: something may have been stored behind the fence.
func (p *Publisher) fenceOff(ctx context.Context, f Fence, subject string, behind uint64) (seq uint64, again bool, err error) {
	if seq, err = p.storeFence(ctx, f, subject, behind); err == nil {
		again, err = p.endBatch(ctx, seq)
	}
	return seq, again, err
}

// TakeOver is [Bus.Take] by a process that resumes the session. It publishes the event that
// says so.
func (b *Bus) TakeOver(ctx context.Context, path event.Path, known uint64, ev event.SessionResumed) (*Publisher, error) {
	p, err := b.Take(ctx, path, known, ev.BootID, ev.BootID)
	if err != nil {
		return nil, err
	}
	if err := p.Publish(ctx, ev); err != nil {
		return nil, err
	}
	return p, p.Flush(ctx)
}

// lastFence returns the sequence number of the session's last fence, and what it says; 0
// means it has none.
func (p *Publisher) lastFence(ctx context.Context) (seq uint64, f Fence, err error) {
	last, err := lastOf(ctx, p.writer.events, []string{p.fenceSubject})
	if err != nil || last == nil {
		return 0, f, err
	}
	if err := json.Unmarshal(last.Data, &f); err != nil {
		return 0, f, fmt.Errorf("entry %d: %w", last.Sequence, err)
	}
	return last.Sequence, f, nil
}

// storeFence stores a fence and returns its sequence number. It is refused if the subject has
// a message after the given sequence number.
func (p *Publisher) storeFence(ctx context.Context, f Fence, subject string, behind uint64) (seq uint64, err error) {
	f.ID = p.sessionID + "." + rand.Text()[:8] + ".1" // the only one of a publisher of its own
	data, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	m := &nats.Msg{Subject: p.fenceSubject, Data: data, Header: expect(subject, behind)}
	ack, err := p.writer.store.JetStream().PublishMsg(ctx, m, jetstream.WithMsgID(f.ID))
	if err == nil {
		return ack.Sequence, nil
	}
	if IsConflict(err) { // perhaps with itself, and its acknowledgement was lost
		if seq, last, readErr := p.lastFence(ctx); readErr != nil || last.ID == f.ID {
			return seq, readErr
		}
	}
	return 0, err
}

// Fence returns the sequence number of the fence with which the publisher was made; 0 for
// that of a new session.
func (p *Publisher) Fence() uint64 { return p.known }

// Opener is [Bus.Publisher] for a new session below the one of a publisher of this process.
// The first that it publishes is refused, and so all, once nothing more is stored of what the
// publisher above publishes.
func (b *Bus) Opener(path event.Path, above *Publisher) (*Publisher, error) {
	p, err := b.Publisher(path)
	if err == nil {
		p.above = above
	}
	return p, err
}

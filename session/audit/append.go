package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

const (
	// maxMessage bounds what is stored at once, in bytes, unless a single record has
	// more.
	maxMessage = 256 << 10

	// again is how long a writer waits before it repeats what was not answered.
	again = 100 * time.Millisecond

	// patience is for how long it does so. The time in which another process that runs the
	// store was stopped does not count.
	patience = 10 * time.Second
)

// chain is the end of the log, as far as the goroutine that writes knows it. Messages
// have one record or several, a line each.
type chain struct {
	known  bool
	seq    uint64 // of the last message; 0 means there is none
	head   Head
	policy string // that was in force at the head

	looked time.Time // when the log was last checked for records to remove
	since  int       // bytes stored since then
}

// store appends records to the log, and returns the rest if it can't store all of them.
// It repeats what the store has not answered for some seconds.
func (c *chain) store(ctx context.Context, l *Log, records []Record) (left []Record, err error) {
	for len(records) > 0 {
		n, err := c.append(ctx, l, records)
		if err != nil {
			return records, err
		}
		records = records[n:]
	}
	if err := c.rotate(ctx, l); err != nil { // it is tried again with what follows
		l.log.Warn("taking out the oldest records of the audit log", "err", err)
	}
	return nil, nil
}

// append stores the first of some records as one message, and returns how many.
func (c *chain) append(ctx context.Context, l *Log, records []Record) (n int, err error) {
	began := time.Now()
	for {
		if !c.known {
			if err := c.read(ctx, l); err != nil {
				return 0, err
			}
		}
		next, data, n, err := c.message(l, records)
		if err != nil {
			return 0, err
		}
		result := l.bus.Store().TryAll(ctx, []eventbus.Write{{Subject: l.subject, Data: data, Last: c.seq}})[0]
		if result.Err == nil {
			next.seq, next.since = result.Seq, c.since+len(data)
			*c = next
			return n, nil
		}
		// Another process has added something, or the message is stored and the answer
		// was lost.
		if c.known = false; !eventbus.IsConflict(result.Err) && !mayRepeat(result.Err) {
			return 0, result.Err
		}
		seq, ours, err := l.after(ctx, c.seq, data)
		switch {
		case err != nil:
			return 0, errors.Join(result.Err, err)
		case ours:
			next.seq, next.known = seq, false
			*c = next
			return n, nil
		case ctx.Err() != nil || l.bus.Store().Waited(began) > patience || !eventbus.IsConflict(result.Err) && !wait(ctx.Done(), again):
			return 0, errors.Join(result.Err, context.Cause(ctx))
		}
	}
}

// mayRepeat reports whether a write may succeed later: all but what the server refuses
// for good.
func mayRepeat(err error) bool {
	return eventbus.IsTransient(err) || !errors.As(err, new(*jetstream.APIError)) && !errors.Is(err, eventbus.ErrLost)
}

// message makes the next message from the first of some records, and returns the chain
// with it. The first record under a policy comes after a record of the policy's change.
// data is valid until the next call.
func (c *chain) message(l *Log, records []Record) (next chain, data []byte, n int, err error) {
	next = *c
	l.sealer.message.Reset()
	for n < len(records) && (n == 0 || l.sealer.message.Len() < maxMessage) {
		r := &records[n]
		if r.Under != nil && *r.Under != next.policy {
			change := Record{Time: r.Time, Kind: PolicyChange, User: r.User, Worker: r.Worker, Before: next.policy, Policy: *r.Under}
			if next.head, err = l.sealer.seal(&change, next.head); err != nil {
				return next, nil, 0, err
			}
			next.policy = *r.Under
		}
		r.Policy = next.policy
		if next.head, err = l.sealer.seal(r, next.head); err != nil {
			return next, nil, 0, err
		}
		n++
	}
	return next, l.sealer.message.Bytes(), n, nil
}

// read finds the end of the log.
func (c *chain) read(ctx context.Context, l *Log) error {
	last, err := l.stream.GetLastMsgForSubject(ctx, l.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		*c = chain{known: true, looked: c.looked, since: c.since}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the end of the audit log: %w", err)
	}
	r, err := lastRecord(last.Data)
	if err != nil {
		return fmt.Errorf("the end of the audit log %w: 'worker audit verify' shows what is wrong", err)
	}
	*c = chain{known: true, seq: last.Sequence, head: Head{r.N, r.Hash}, policy: r.Policy, looked: c.looked, since: c.since}
	return nil
}

// lastRecord returns the last record of a message.
func lastRecord(data []byte) (*Record, error) {
	line, complete := bytes.CutSuffix(data, []byte{'\n'})
	if !complete {
		return nil, errors.New("is cut off")
	}
	return open(line[bytes.LastIndexByte(line, '\n')+1:])
}

// after reports whether the message that is stored behind the one of a sequence number
// is data: then it is ours, since each says which one it follows.
func (l *Log) after(ctx context.Context, seq uint64, data []byte) (stored uint64, ours bool, err error) {
	last, err := l.stream.GetLastMsgForSubject(ctx, l.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && last.Sequence <= seq:
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("reading the end of the audit log: %w", err)
	}
	for m, err := range l.bus.Range(ctx, l.stream, seq+1, last.Sequence) {
		if err != nil {
			return 0, false, err
		}
		return m.Seq, bytes.Equal(m.Data, data), nil
	}
	return 0, false, nil
}

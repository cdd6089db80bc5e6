package natsservice

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/taskt/slots"
)

// The workers of a workspace share its task calls. NATS gives a call to any of
// them, whether or not it has a free slot. One without hands the call on, below
// the subject agents.v1.WS.workers, where only workers may publish:
//
//   - A worker with a free slot takes part in the queue group of "take". A call
//     handed on has the caller's reply subject in replyHeader; the answer is
//     "taken", or "full" from a worker that has none left. If no worker has one,
//     none answers.
//   - A worker that has a free slot again publishes on "free".
const (
	offerSuffix = ".take"
	freeSuffix  = ".free"
	replyHeader = "Agent-Caller-Reply"
	queueGroup  = "workers"

	accepted = "taken"
	full     = "full"
)

// peers are the other workers of a workspace on NATS.
type peers struct {
	conn    *nats.Conn
	subject string
	enter   func(*request) bool // runs a call that is offered, if a slot is free
	wake    func()              // another worker may have a free slot
	log     *slog.Logger

	offers *nats.Subscription // to offerSuffix, while a slot is free
	free   *nats.Subscription // to freeSuffix
}

var _ slots.Peers[*request] = (*peers)(nil)

// open begins to listen to the other workers.
func (p *peers) open() (err error) {
	p.free, err = p.conn.Subscribe(p.subject+freeSuffix, func(*nats.Msg) { p.wake() })
	return err
}

func (p *peers) close() error {
	if p.free == nil {
		return nil
	}
	return p.free.Drain()
}

// Offer implements [slots.Peers].
func (p *peers) Offer(ctx context.Context, req *request) (slots.Reply, error) {
	msg := &nats.Msg{Subject: p.subject + offerSuffix, Header: nats.Header{}, Data: req.data}
	for name, values := range req.header {
		msg.Header[name] = values
	}
	msg.Header.Set(replyHeader, req.reply)
	answer, err := p.conn.RequestMsgWithContext(ctx, msg)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return slots.NoPeer, nil
	case err != nil:
		return 0, err
	case string(answer.Data) == accepted:
		return slots.Accepted, nil
	default:
		return slots.Full, nil
	}
}

// Advertise implements [slots.Peers].
func (p *peers) Advertise(free bool) error {
	switch {
	case free && p.offers == nil:
		sub, err := p.conn.QueueSubscribe(p.subject+offerSuffix, queueGroup, p.offered)
		if err != nil {
			return err
		}
		p.offers = sub
		return p.conn.Publish(p.subject+freeSuffix, nil)
	case !free && p.offers != nil:
		sub := p.offers
		p.offers = nil
		return sub.Drain() // what is on its way is answered
	}
	return nil
}

// offered answers another worker that hands a call on.
func (p *peers) offered(msg *nats.Msg) {
	req := &request{msg.Subject, msg.Header.Get(replyHeader), msg.Header, msg.Data}
	answer := full
	if answerable(req.reply) && p.enter(req) {
		answer = accepted
	}
	if err := msg.Respond([]byte(answer)); err != nil {
		p.log.Error("answering a worker that hands a call on", "err", err)
	}
}

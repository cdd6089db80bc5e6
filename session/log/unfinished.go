package log

import (
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// fold is an unfinished State.
type fold struct {
	State
	draft       *draft            // what the model is saying; nil means nothing
	groups      map[string]*group // by the message that has the calls
	calls       map[string]*group // by the call
	order       []*group
	unmasked    map[string]event.Event // events that are published masked, by [unmaskedKey]
	deliveredBy map[string]string      // by the id of a message: the call whose result delivers it
	over        bool                   // the log has said how the session ends
	lastError   string                 // by the last error event
	at          time.Time              // of the previous entry; zero means the session did not work then

	reserved *reserveData // for the call that is under way; nil means nothing
}

func (f *fold) append(id string, at time.Time, m model.Message) *Message {
	stored := &Message{Schema: record.Schema, ID: id, CreatedAt: at, Message: m}
	f.Messages, f.Sent = append(f.Messages, stored), append(f.Sent, stored)
	return stored
}

func (f *fold) deliver(id string) {
	if f.delivered == nil {
		f.delivered = make(map[string]bool)
	}
	f.delivered[id] = true
}

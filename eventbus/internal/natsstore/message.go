package natsstore

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Message is a message as a stream has it. Its readers share it, and must not
// change it.
type Message struct {
	Subject string
	Seq     uint64
	Time    time.Time // when it was stored
	Data    []byte
	ID      string // its message id, if it has one
	Batch   string // what its [BatchHeader] says
}

func newMessage(m *nats.Msg, subject string, seq uint64, at time.Time) *Message {
	return &Message{subject, seq, at, m.Data, m.Header.Get(jetstream.MsgIDHeader), m.Header.Get(BatchHeader)}
}

// Size is how much memory the message takes, about.
func (m *Message) Size() int { return len(m.Data) + len(m.Subject) + messageSize }

const messageSize = 160 // without its content, the buffers of the library included

// delivery returns a message that a consumer has delivered, and the number that the
// consumer has given it, counted from 1. Its reply subject tells:
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<number>.<time>.<pending>
func delivery(m *nats.Msg) (msg *Message, number, pending uint64, err error) {
	rest, v1 := strings.CutPrefix(m.Reply, "$JS.ACK.")
	var fields [7]string
	for i := range fields {
		var more bool
		fields[i], rest, more = strings.Cut(rest, ".")
		v1 = v1 && more == (i < len(fields)-1)
	}
	if v1 {
		seq, err1 := strconv.ParseUint(fields[3], 10, 64)
		number, err2 := strconv.ParseUint(fields[4], 10, 64)
		ns, err3 := strconv.ParseInt(fields[5], 10, 64)
		pending, err4 := strconv.ParseUint(fields[6], 10, 64)
		if err1 == nil && err2 == nil && err3 == nil && err4 == nil {
			return newMessage(m, m.Subject, seq, time.Unix(0, ns)), number, pending, nil
		}
	}
	meta, err := m.Metadata() // knows the longer forms too
	if err != nil {
		return nil, 0, 0, err
	}
	return newMessage(m, m.Subject, meta.Sequence.Stream, meta.Timestamp), meta.Sequence.Consumer, meta.NumPending, nil
}

// status returns the status that the server sends instead of a message, and its text; empty
// means m is a message.
func status(m *nats.Msg) (code, text string) {
	if len(m.Data) > 0 || len(m.Header) == 0 {
		return "", ""
	}
	return m.Header.Get("Status"), m.Header.Get("Description")
}

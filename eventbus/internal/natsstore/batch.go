package natsstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Batches are what nats-server 2.14 calls fast ingest. Each message says in its
// reply subject which of its batch it is:
//
//	<inbox>.<batch>.<flow>.fail.<number, from 1>.<operation>.$FI
//
// The server stores them in order, and stores nothing after a message that it refuses or
// misses. A single message is published without that.
const (
	batchFlow   = ".500.fail." // how often the server reports progress, at most: a batch is smaller
	batchSuffix = ".$FI"
)

// The operations of a batch.
const (
	batchStart  = '0'
	batchAppend = '1'
	batchCommit = '2' // with the last message
	batchEnd    = '3' // without one
)

// The codes of JetStream errors about batches, as in nats-server's errors.json.
const (
	codeBatchDisabled = jetstream.ErrorCode(10205)
	codeBatchUnknown  = jetstream.ErrorCode(10208)
	codeBatchTooMany  = jetstream.ErrorCode(10211)
)

// errIncomplete reports that the store has a part of a batch only, and no reason.
var errIncomplete = errors.New("the event store has only a part of what was sent")

// Result says what became of a batch.
type Result struct {
	Seq uint64 // of its last message in the stream, if all are stored
	Err error  // why not all are
	At  int    // the message that Err is about, counted from 1; 0 means unknown
}

// Batch is a run of messages of which the store keeps all or, if one of them is
// refused or lost, those before it.
type Batch struct {
	conn *PublishConn
	id   string
	size int
	sent int
	done func(Result)
}

// Begin begins a batch of size messages. done is called once, when the store has
// answered; it is not called if the connection ends first.
func (c *PublishConn) Begin(size int, done func(Result)) *Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	b := &Batch{conn: c, id: c.name + strconv.FormatUint(c.count, 36), size: size, done: done}
	c.batches[b.id] = b
	return b
}

// Send sends the next message of the batch. It keeps neither header nor data.
func (b *Batch) Send(subject string, header nats.Header, data []byte) error {
	b.sent++
	var reply string
	switch {
	case b.size == 1:
		reply = b.conn.inbox + b.id
	case b.sent == 1:
		reply = b.reply(b.conn, b.sent, batchStart)
	case b.sent == b.size:
		reply = b.reply(b.conn, b.sent, batchCommit)
	default:
		reply = b.reply(b.conn, b.sent, batchAppend)
	}
	if header == nil {
		return b.conn.conn.PublishRequest(subject, reply, data)
	}
	return b.conn.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Header: header, Data: data})
}

// reply returns the reply subject of a message, for an answer on connection c.
func (b *Batch) reply(c *PublishConn, number int, op byte) string {
	var buf [128]byte
	s := append(append(append(buf[:0], c.inbox...), b.id...), batchFlow...)
	s = append(strconv.AppendInt(s, int64(number), 10), '.', op)
	return string(append(s, batchSuffix...))
}

// BatchHeader is a header with the id of the batch in which a message was sent.
const BatchHeader = "Agentworker-Batch"

// ID returns what identifies the batch in [PublishConn.EndBatch]; empty means it is a
// single message.
func (b *Batch) ID() string {
	if b.size == 1 {
		return ""
	}
	return b.id
}

// behindAll is a number behind those of all messages of a batch.
const behindAll = 1 << 20

// EndBatch ends a batch that may have been sent on another connection, or by another process.
// When it returns nil, no message of the batch is stored any more. subject is one of the
// stream. It has no effect on a batch of which nothing has arrived.
func (c *PublishConn) EndBatch(ctx context.Context, id, subject string) error {
	if id == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, AttemptTimeout)
	defer stop()
	answer := make(chan Result, 1)
	end := &Batch{conn: c, id: id, done: func(r Result) {
		select {
		case answer <- r:
		default: // there is one, or nobody waits any more: the answers of other batches are behind this one
		}
	}}
	defer c.forget(end)
	for {
		c.mu.Lock()
		c.batches[id] = end
		c.mu.Unlock()
		if err := c.conn.PublishRequest(subject, end.reply(c, behindAll, batchEnd), nil); err != nil {
			return err
		}
		select {
		case r := <-answer:
			var refused *jetstream.APIError
			switch {
			case !errors.As(r.Err, &refused):
				return r.Err
			case r.At != behindAll: // it is about another message, which was refused
			case refused.ErrorCode == codeBatchUnknown || refused.ErrorCode == codeBatchDisabled:
				return nil
			default:
				return r.Err
			}
		case <-time.After(endInterval): // the answer may go where the batch's last message came from
		case <-c.gone:
			return nats.ErrConnectionClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answered processes what the store says of a batch.
func (c *PublishConn) answered(msg *nats.Msg) {
	id, at := c.about(msg.Subject)
	c.mu.Lock()
	b := c.batches[id]
	c.mu.Unlock()
	if b == nil {
		return
	}
	r, final := b.result(msg, at)
	if !final {
		return
	}
	c.forget(b)
	b.done(r)
}

// forget drops a batch: what the store says of it from now on is not passed on.
func (c *PublishConn) forget(b *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.batches, b.id)
}

// about returns which batch an answer is about, and which of its messages; 0 means unknown.
func (c *PublishConn) about(subject string) (id string, at int) {
	id, rest, several := strings.Cut(subject[len(c.inbox):], ".")
	if !several {
		return id, 1
	}
	_, rest, _ = strings.Cut(rest, "fail.")
	text, _, _ := strings.Cut(rest, ".")
	at, _ = strconv.Atoi(text)
	return id, at
}

var (
	flowPrefix  = []byte(`{"type":"`)
	errorPrefix = []byte(`{"type":"err"`)
	errorField  = []byte(`"error":`)
	seqField    = []byte(`"seq":`)
	countField  = []byte(`"count":`)
)

// result reads an answer. It is not final if it reports progress only.
func (b *Batch) result(msg *nats.Msg, at int) (r Result, final bool) {
	switch data := msg.Data; {
	case len(data) == 0 && msg.Header.Get("Status") == "503":
		return Result{Err: nats.ErrNoResponders}, true
	case bytes.HasPrefix(data, flowPrefix) && !bytes.HasPrefix(data, errorPrefix):
		return Result{}, false // progress, or a gap behind which the number stored follows
	case bytes.Contains(data, errorField):
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(data, &answer); err != nil || answer.Error == nil {
			return Result{Err: jetstream.ErrInvalidJSAck}, true
		}
		return Result{Err: answer.Error, At: at}, true
	default:
		seq, ok := number(data, seqField)
		if !ok {
			return Result{Err: jetstream.ErrInvalidJSAck}, true
		}
		if count, _ := number(data, countField); b.size > 1 && (count != uint64(b.size) || seq == 0) {
			// Without a sequence number, the store has skipped all of them as duplicates.
			// It may not have stored the others yet, and loses them with its leader.
			return Result{Err: errIncomplete}, true
		}
		return Result{Seq: seq}, true
	}
}

// number returns the value of a field in the JSON of an acknowledgement.
func number(data, field []byte) (n uint64, ok bool) {
	_, rest, ok := bytes.Cut(data, field)
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n, ok
}

// Unordered reports whether err says nothing of a message itself: a batch of it was lost on
// its way, or the store accepts none at the moment. It must be sent again.
func Unordered(err error) bool {
	var refused *jetstream.APIError
	return errors.Is(err, errIncomplete) || errors.As(err, &refused) &&
		slices.Contains([]jetstream.ErrorCode{codeBatchDisabled, codeBatchUnknown, codeBatchTooMany}, refused.ErrorCode)
}

// NoBatches reports whether err says that the stream accepts single messages only.
func NoBatches(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == codeBatchDisabled
}

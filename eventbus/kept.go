package eventbus

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keptJetStream is a JetStream whose operations outlive the server that they
// were sent to: one without an answer is tried again. What is published has a
// message id, so that it is stored once.
type keptJetStream struct {
	jetstream.JetStream
	bus *Bus
}

func (j keptJetStream) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return j.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, opts...)
}

func (j keptJetStream) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if err := fits(msg.Subject); err != nil {
		return nil, err
	}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	if msg.Header.Get(jetstream.MsgIDHeader) == "" { // one of opts takes its place
		msg.Header.Set(jetstream.MsgIDHeader, rand.Text())
	}
	return again(ctx, j.bus, func(ctx context.Context) (*jetstream.PubAck, error) {
		return j.JetStream.PublishMsg(ctx, msg, opts...)
	})
}

// stored reports whether the last message on msg's subject is msg itself, and
// its sequence number. The store looks at expected sequence numbers before it
// looks at message ids: a second try of what it has stored is a conflict to it.
func (j keptJetStream) stored(ctx context.Context, stream string, msg *nats.Msg) (seq uint64, ours bool) {
	s, err := j.Stream(ctx, stream)
	if err != nil {
		return 0, false
	}
	last, err := s.GetLastMsgForSubject(ctx, msg.Subject)
	if err != nil || last.Header.Get(jetstream.MsgIDHeader) != msg.Header.Get(jetstream.MsgIDHeader) {
		return 0, false
	}
	return last.Sequence, true
}

func (j keptJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return j.stream(again(ctx, j.bus, func(ctx context.Context) (jetstream.Stream, error) {
		return j.JetStream.Stream(ctx, name)
	}))
}

func (j keptJetStream) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return j.stream(again(ctx, j.bus, func(ctx context.Context) (jetstream.Stream, error) {
		return j.JetStream.CreateOrUpdateStream(ctx, cfg)
	}))
}

func (j keptJetStream) stream(s jetstream.Stream, err error) (jetstream.Stream, error) {
	if err != nil {
		return nil, err
	}
	return keptStream{s, j.bus}, nil
}

func (j keptJetStream) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	return j.bucket(again(ctx, j.bus, func(ctx context.Context) (jetstream.KeyValue, error) {
		return j.JetStream.KeyValue(ctx, bucket)
	}))
}

func (j keptJetStream) CreateOrUpdateKeyValue(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return j.bucket(again(ctx, j.bus, func(ctx context.Context) (jetstream.KeyValue, error) {
		return j.JetStream.CreateOrUpdateKeyValue(ctx, cfg)
	}))
}

func (j keptJetStream) bucket(kv jetstream.KeyValue, err error) (jetstream.KeyValue, error) {
	if err != nil {
		return nil, err
	}
	return keptBucket{kv, j}, nil
}

func (j keptJetStream) CreateOrUpdateObjectStore(ctx context.Context, cfg jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return again(ctx, j.bus, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return j.JetStream.CreateOrUpdateObjectStore(ctx, cfg)
	})
}

// keptStream is a stream as [keptJetStream] has it.
type keptStream struct {
	jetstream.Stream
	bus *Bus
}

func (s keptStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return again(ctx, s.bus, func(ctx context.Context) (*jetstream.StreamInfo, error) { return s.Stream.Info(ctx, opts...) })
}

func (s keptStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return again(ctx, s.bus, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return s.Stream.GetMsg(ctx, seq, opts...) })
}

func (s keptStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if err := fits(subject); err != nil {
		return nil, err
	}
	return again(ctx, s.bus, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.Stream.GetLastMsgForSubject(ctx, subject)
	})
}

// Purge may be done twice.
func (s keptStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	_, err := again(ctx, s.bus, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.Stream.Purge(ctx, opts...) })
	return err
}

// keptBucket is a key-value bucket as [keptJetStream] has it.
type keptBucket struct {
	jetstream.KeyValue
	js keptJetStream
}

func (k keptBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if err := fits(key); err != nil {
		return nil, err
	}
	return again(ctx, k.js.bus, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return k.KeyValue.Get(ctx, key) })
}

// Put may store the value twice, with the same outcome.
func (k keptBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := fits(key); err != nil {
		return 0, err
	}
	return again(ctx, k.js.bus, func(ctx context.Context) (uint64, error) { return k.KeyValue.Put(ctx, key, value) })
}

// Create tells its own entry, whose acknowledgement was lost, from another's by
// the value.
func (k keptBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if err := fits(key); err != nil {
		return 0, err
	}
	tries := 0
	return again(ctx, k.js.bus, func(ctx context.Context) (uint64, error) {
		tries++
		rev, err := k.KeyValue.Create(ctx, key, value, opts...)
		if tries > 1 && errors.Is(err, jetstream.ErrKeyExists) {
			if e, getErr := k.KeyValue.Get(ctx, key); getErr == nil && bytes.Equal(e.Value(), value) {
				return e.Revision(), nil
			}
		}
		return rev, err
	})
}

// Update is the library's with a message id, by which it knows an update of its
// own that was stored and whose acknowledgement was lost.
func (k keptBucket) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	msg := &nats.Msg{Subject: "$KV." + k.Bucket() + "." + key, Data: value}
	ack, err := k.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(rev))
	if IsConflict(err) {
		if seq, ours := k.js.stored(ctx, "KV_"+k.Bucket(), msg); ours {
			return seq, nil
		}
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func (k keptBucket) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	if err := fits(key); err != nil {
		return err
	}
	_, err := again(ctx, k.js.bus, func(ctx context.Context) (struct{}, error) { return struct{}{}, k.KeyValue.Delete(ctx, key, opts...) })
	return err
}

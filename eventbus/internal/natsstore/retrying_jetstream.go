package natsstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retryingJetStream is a JetStream whose operations outlast a connection: one that
// gets no answer is repeated. Every message that it publishes has an id, so that
// it is stored once.
type retryingJetStream struct {
	jetstream.JetStream
	retrier *retrier
}

func (j retryingJetStream) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return j.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, opts...)
}

func (j retryingJetStream) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if err := checkSubject(msg.Subject); err != nil {
		return nil, err
	}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	if msg.Header.Get(jetstream.MsgIDHeader) == "" { // an id among opts replaces it
		msg.Header.Set(jetstream.MsgIDHeader, rand.Text())
	}
	return retryDefault(ctx, j.retrier, func(ctx context.Context) (*jetstream.PubAck, error) {
		return j.JetStream.PublishMsg(ctx, msg, opts...)
	})
}

func (j retryingJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return j.stream(retryDefault(ctx, j.retrier, func(ctx context.Context) (jetstream.Stream, error) {
		return j.JetStream.Stream(ctx, name)
	}))
}

func (j retryingJetStream) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return j.stream(retryDefault(ctx, j.retrier, func(ctx context.Context) (jetstream.Stream, error) {
		return j.JetStream.CreateOrUpdateStream(ctx, cfg)
	}))
}

func (j retryingJetStream) stream(s jetstream.Stream, err error) (jetstream.Stream, error) {
	if err != nil {
		return nil, err
	}
	return retryingStream{s, j.JetStream.Conn(), j.retrier}, nil
}

func (j retryingJetStream) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	return j.bucket(retryDefault(ctx, j.retrier, func(ctx context.Context) (jetstream.KeyValue, error) {
		return j.JetStream.KeyValue(ctx, bucket)
	}))
}

func (j retryingJetStream) CreateOrUpdateKeyValue(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return j.bucket(retryDefault(ctx, j.retrier, func(ctx context.Context) (jetstream.KeyValue, error) {
		return j.JetStream.CreateOrUpdateKeyValue(ctx, cfg)
	}))
}

func (j retryingJetStream) bucket(kv jetstream.KeyValue, err error) (jetstream.KeyValue, error) {
	if err != nil {
		return nil, err
	}
	return retryingBucket{kv, j}, nil
}

func (j retryingJetStream) CreateOrUpdateObjectStore(ctx context.Context, cfg jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return retryDefault(ctx, j.retrier, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return j.JetStream.CreateOrUpdateObjectStore(ctx, cfg)
	})
}

// retryingStream is a stream of a [retryingJetStream].
type retryingStream struct {
	jetstream.Stream
	conn    *nats.Conn
	retrier *retrier
}

func (s retryingStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return retryDefault(ctx, s.retrier, func(ctx context.Context) (*jetstream.StreamInfo, error) { return s.Stream.Info(ctx, opts...) })
}

func (s retryingStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return retryDefault(ctx, s.retrier, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return s.Stream.GetMsg(ctx, seq, opts...) })
}

// GetLastMsgForSubject returns what was last stored when it was called: in a cluster
// the leader of the stream is asked. The library asks any server that has a copy,
// which may be behind.
func (s retryingStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if err := checkSubject(subject); err != nil {
		return nil, err
	}
	get := s.Stream.GetLastMsgForSubject
	if s.CachedInfo().Config.Replicas > 1 {
		get = s.lastOfLeader
	}
	return retryDefault(ctx, s.retrier, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return get(ctx, subject) })
}

func (s retryingStream) lastOfLeader(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	request, err := json.Marshal(struct {
		LastBySubject string `json:"last_by_subj"`
	}{subject})
	if err != nil {
		return nil, err
	}
	reply, err := s.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.CachedInfo().Config.Name, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Time    time.Time `json:"time"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
		} `json:"message"`
	}
	err = json.Unmarshal(reply.Data, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading an answer of the event store: %w", err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case answer.Error != nil:
		return nil, answer.Error
	}
	m := &jetstream.RawStreamMsg{Subject: answer.Message.Subject, Sequence: answer.Message.Seq, Time: answer.Message.Time, Data: answer.Message.Data}
	if len(answer.Message.Header) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return nil, fmt.Errorf("reading an answer of the event store: %w", err)
		}
	}
	return m, nil
}

// Purge is safe to repeat. The server of the embedded store can't do it on a full disk.
func (s retryingStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	if err := s.retrier.election.Room(); err != nil {
		return err
	}
	_, err := retryDefault(ctx, s.retrier, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.Stream.Purge(ctx, opts...) })
	return err
}

// retryingBucket is a key-value bucket of a [retryingJetStream].
type retryingBucket struct {
	jetstream.KeyValue
	js retryingJetStream
}

func (k retryingBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if err := checkSubject(key); err != nil {
		return nil, err
	}
	return retryDefault(ctx, k.js.retrier, func(ctx context.Context) (jetstream.KeyValueEntry, error) { return k.KeyValue.Get(ctx, key) })
}

// Put is safe to repeat: storing the value twice has the same outcome.
func (k retryingBucket) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := checkSubject(key); err != nil {
		return 0, err
	}
	return retryDefault(ctx, k.js.retrier, func(ctx context.Context) (uint64, error) { return k.KeyValue.Put(ctx, key, value) })
}

// Create recognises its own entry, whose acknowledgement was lost, by the value.
func (k retryingBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if err := checkSubject(key); err != nil {
		return 0, err
	}
	attempts := 0
	return retryDefault(ctx, k.js.retrier, func(ctx context.Context) (uint64, error) {
		attempts++
		rev, err := k.KeyValue.Create(ctx, key, value, opts...)
		if attempts > 1 && errors.Is(err, jetstream.ErrKeyExists) {
			if e, getErr := k.KeyValue.Get(ctx, key); getErr == nil && bytes.Equal(e.Value(), value) {
				return e.Revision(), nil
			}
		}
		return rev, err
	})
}

// Update adds a message id to the library's Update. By the id it recognises its own update if
// that was stored and the acknowledgement was lost.
func (k retryingBucket) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	msg := &nats.Msg{Subject: "$KV." + k.Bucket() + "." + key, Data: value}
	ack, err := k.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(rev))
	if IsConflict(err) {
		if stream, streamErr := k.js.Stream(ctx, "KV_"+k.Bucket()); streamErr == nil {
			if seq, ours := Stored(ctx, stream, msg); ours {
				return seq, nil
			}
		}
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

func (k retryingBucket) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	if err := checkSubject(key); err != nil {
		return err
	}
	_, err := retryDefault(ctx, k.js.retrier, func(ctx context.Context) (struct{}, error) { return struct{}{}, k.KeyValue.Delete(ctx, key, opts...) })
	return err
}

// Stored reports whether the last message on msg's subject is msg itself, and its
// sequence number. The store checks expected sequence numbers before message ids:
// it refuses a second attempt to store a message as a conflict with the first.
func Stored(ctx context.Context, stream jetstream.Stream, msg *nats.Msg) (seq uint64, ours bool) {
	last, err := stream.GetLastMsgForSubject(ctx, msg.Subject)
	if err != nil || last.Header.Get(jetstream.MsgIDHeader) != msg.Header.Get(jetstream.MsgIDHeader) {
		return 0, false
	}
	return last.Sequence, true
}

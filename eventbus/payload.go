package eventbus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/nats-io/nats.go/jetstream"
)

// The object store of what is too large for one message, and the stream below
// it. An object's name is <workspace>/<session>/<hash of its content>.
const (
	payloadBucket = "AGENT_PAYLOADS"
	PayloadStream = "OBJ_" + payloadBucket
)

// payloadChunk is how many bytes of a payload go in one message.
const payloadChunk = 128 << 10

// messageOverhead is what a message has besides its payload and its envelopes:
// its headers count towards the server's limit.
const messageOverhead = 4 << 10

// payloadTime is how long a try to move size bytes of a payload may take beyond
// that of anything else: 1 MB a second is a slow disk, or a slow network.
func payloadTime(size int) time.Duration { return time.Duration(size) * time.Microsecond }

// ErrNoPayload is returned for a [event.PayloadRef] whose content is not stored, or
// is not what was stored.
var ErrNoPayload = errors.New("its content is not in the object store any more")

// MaxMessage is how many bytes of JSON fit in one message, envelopes included.
func (b *Bus) MaxMessage() int { return max(int(b.conn.MaxPayload())-messageOverhead, messageOverhead) }

// PutPayload stores what is too large for a message of a session. It goes with
// the session's events, by [Bus.Purge].
func (b *Bus) PutPayload(ctx context.Context, sessionID string, data []byte) (*event.PayloadRef, error) {
	cfg := jetstream.ObjectStoreConfig{
		Bucket:      payloadBucket,
		Description: "events and messages of agent sessions that are too large for one message",
	}
	if _, err := b.EnsureObjects(ctx, cfg); err != nil {
		return nil, fmt.Errorf("opening the object store %s: %w", payloadBucket, err)
	}
	sum := sha256.Sum256(data)
	ref := &event.PayloadRef{Bucket: payloadBucket, Size: len(data), SHA256: hex.EncodeToString(sum[:])}
	ref.Name = b.payloadPrefix(sessionID) + ref.SHA256[:32]
	// The index goes first: what is cut off behind it is found by it.
	if _, err := b.js.Publish(ctx, b.payloadIndex(sessionID)+"."+ref.SHA256[:32], nil); err != nil {
		return nil, fmt.Errorf("storing %d bytes as %s in %s: %w", len(data), ref.Name, payloadBucket, err)
	}
	object := jetstream.ObjectMeta{Name: ref.Name, Opts: &jetstream.ObjectMetaOptions{
		ChunkSize: uint32(min(payloadChunk, b.MaxMessage())),
	}}
	_, err := againLonger(ctx, b, payloadTime(len(data)), func(ctx context.Context) (*jetstream.ObjectInfo, error) {
		store, err := b.js.ObjectStore(ctx, payloadBucket)
		if err != nil {
			return nil, err
		}
		return store.Put(ctx, object, bytes.NewReader(data))
	})
	if err != nil {
		return nil, fmt.Errorf("storing %d bytes as %s in %s: %w", len(data), ref.Name, payloadBucket, err)
	}
	return ref, nil
}

// payloadIndex returns the subject below which the payloads of a session are
// listed, one message without content each. It is among those of the object
// store's chunks, which go by ids without dots; names are encoded in the
// subjects of their own, so that nobody can ask for those of one session.
func (b *Bus) payloadIndex(sessionID string) string {
	return objectSubject("C", b.workspace+"."+sessionID)
}

func (b *Bus) payloadPrefix(sessionID string) string { return b.workspace + "/" + sessionID + "/" }

// Payload returns what ref stands for, or [ErrNoPayload].
func (b *Bus) Payload(ctx context.Context, ref *event.PayloadRef) ([]byte, error) {
	if ref.Bucket != payloadBucket || !strings.HasPrefix(ref.Name, b.workspace+"/") {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	data, err := b.object(ctx, ref.Name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ref.SHA256 {
		return nil, fmt.Errorf("reading %s in %s: its hash is another: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	return data, nil
}

// object returns the content of an object. The library's own Get stands still
// where the store goes to another process in the middle of it.
func (b *Bus) object(ctx context.Context, name string) ([]byte, error) {
	info, err := again(ctx, b, func(ctx context.Context) (*jetstream.ObjectInfo, error) {
		store, err := b.js.ObjectStore(ctx, payloadBucket)
		if err != nil {
			return nil, err
		}
		return store.GetInfo(ctx, name)
	})
	if err != nil {
		return nil, err
	}
	stream, err := b.js.Stream(ctx, PayloadStream)
	if err != nil {
		return nil, err
	}
	var data []byte
	for chunk, err := range b.Read(ctx, stream, objectSubject("C", info.NUID)) {
		if err != nil {
			return nil, err
		}
		data = append(data, chunk...)
	}
	return data, nil
}

// objectSubject returns the subject of the chunks ("C") of an object's id, or of
// the description ("M") of its encoded name, as NATS's ADR-20 has them.
func objectSubject(kind, of string) string { return "$O." + payloadBucket + "." + kind + "." + of }

// fit returns the JSON of ev as it can be stored: itself or, where it is too
// large for one message, an event of the same type that says where it is.
func (p *Publisher) fit(ctx context.Context, ev event.Event) (json.RawMessage, error) {
	body, err := event.Encode(ev)
	if err != nil || len(p.before)+len(body)+len(p.after) <= p.bus.MaxMessage() {
		return body, err
	}
	ref, err := p.bus.PutPayload(ctx, p.sessionID, body)
	if err != nil {
		return nil, fmt.Errorf("a %s event is too large for one message: %w", ev.Type(), err)
	}
	return json.Marshal(pointer{ev.Type(), ref})
}

// pointer is what is published in place of a large event.
type pointer struct {
	Type string            `json:"type"`
	Ref  *event.PayloadRef `json:"payloadRef"`
}

var refField = []byte(`"payloadRef":`)

// whole returns an event of which only the place may be stored, envelopes and
// all. Where it is not there any more, that is said in it.
func (b *Bus) whole(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > messageOverhead*2 || !bytes.Contains(raw, refField) {
		return raw, nil
	}
	path, inner := event.Path{{}}, raw
	for {
		var head struct {
			pointer
			AgentType string          `json:"agentType"`
			SessionID string          `json:"sessionId"`
			Event     json.RawMessage `json:"event"`
		}
		if err := json.Unmarshal(inner, &head); err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		if head.Type == (event.SubagentEvent{}).Type() && head.Event != nil {
			path = path.Child(head.SessionID, head.AgentType)
			inner = head.Event
			continue
		}
		if head.Ref == nil {
			return raw, nil // somewhere in another event
		}
		body, err := b.Payload(ctx, head.Ref)
		if errors.Is(err, ErrNoPayload) {
			head.Ref.Missing = true
			body, err = json.Marshal(head.pointer)
		}
		if err != nil {
			return nil, err
		}
		before, after := path.Envelope()
		return bytes.Join([][]byte{before, body, after}, nil), nil
	}
}

// Purge deletes the events of the session at the end of path and of all below
// it, and the payloads of the session itself.
func (b *Bus) Purge(ctx context.Context, path event.Path) error {
	subject, err := b.Subject(path)
	if err != nil {
		return err
	}
	if err := b.events.Purge(ctx, jetstream.WithPurgeSubject(subject+".>")); err != nil {
		return fmt.Errorf("deleting the events below %s: %w", subject, err)
	}
	return b.purgePayloads(ctx, path[len(path)-1].SessionID)
}

// purgePayloads deletes the payloads of a session by their index.
func (b *Bus) purgePayloads(ctx context.Context, sessionID string) error {
	stream, err := b.js.Stream(ctx, PayloadStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // nothing was ever too large
	}
	if err != nil {
		return fmt.Errorf("opening the object store %s: %w", payloadBucket, err)
	}
	index := b.payloadIndex(sessionID)
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(index+".*"))
	if err != nil {
		return fmt.Errorf("listing the payloads of session %s: %w", sessionID, err)
	}
	for subject := range info.State.Subjects {
		name := b.payloadPrefix(sessionID) + strings.TrimPrefix(subject, index+".")
		if err := purgeObject(ctx, stream, name); err != nil {
			return fmt.Errorf("deleting %s in %s: %w", name, payloadBucket, err)
		}
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(index+".*")); err != nil {
		return fmt.Errorf("deleting the list of payloads of session %s: %w", sessionID, err)
	}
	return nil
}

// purgeObject deletes an object. The library's own Delete leaves a mark for good.
// The content goes first: what is cut off here is found again by the name.
func purgeObject(ctx context.Context, stream jetstream.Stream, name string) error {
	described := objectSubject("M", base64.URLEncoding.EncodeToString([]byte(name)))
	last, err := stream.GetLastMsgForSubject(ctx, described)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // cut off before it was stored
	}
	if err != nil {
		return err
	}
	var object jetstream.ObjectInfo
	if err := json.Unmarshal(last.Data, &object); err != nil {
		return err
	}
	if object.NUID == "" {
		return errors.New("its description has no id")
	}
	for _, subject := range []string{objectSubject("C", object.NUID), described} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

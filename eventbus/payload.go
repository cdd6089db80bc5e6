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
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// The object store of what is too large for one message, and the stream below it.
// An object's name is <workspace>/<session>/<hash of its content>.
const (
	payloadBucket = "AGENT_PAYLOADS"
	PayloadStream = "OBJ_" + payloadBucket
)

// payloadChunk is how many bytes of a payload one message has.
const payloadChunk = 128 << 10

// messageOverhead is what a message has besides its JSON, in bytes: headers count
// towards the server's limit.
const messageOverhead = 4 << 10

// payloadTime is how much longer an attempt to move size bytes of a payload may
// take than any other: a slow disk or network moves 1 MB a second.
func payloadTime(size int) time.Duration { return time.Duration(size) * time.Microsecond }

// ErrNoPayload is returned for an [event.PayloadRef] whose content is not stored
// any more, or has changed.
var ErrNoPayload = errors.New("its content is no longer in the object store")

// payloads are what the sessions of a workspace have stored outside of messages.
type payloads struct {
	store     *natsstore.Store
	workspace string
	stream    atomic.Pointer[jetstream.Stream] // nil means it was not there yet
}

func (p *payloads) maxMessage() int {
	return max(int(p.store.Conn().MaxPayload())-messageOverhead, messageOverhead)
}

func (p *payloads) put(ctx context.Context, sessionID string, data []byte) (*event.PayloadRef, error) {
	cfg := jetstream.ObjectStoreConfig{
		Bucket:      payloadBucket,
		Description: "events and messages of agent sessions that are too large for one message",
	}
	if _, err := p.store.EnsureObjects(ctx, cfg); err != nil {
		return nil, fmt.Errorf("opening the object store %s: %w", payloadBucket, err)
	}
	sum := sha256.Sum256(data)
	ref := &event.PayloadRef{Bucket: payloadBucket, Size: len(data), SHA256: hex.EncodeToString(sum[:])}
	ref.Name = p.name(sessionID, ref.SHA256)
	// The index comes first: it finds a payload whose storing was interrupted.
	if _, err := p.store.JetStream().Publish(ctx, p.index(sessionID)+"."+ref.SHA256[:32], nil); err != nil {
		return nil, fmt.Errorf("storing %d bytes as %s in %s: %w", len(data), ref.Name, payloadBucket, err)
	}
	object := jetstream.ObjectMeta{Name: ref.Name, Opts: &jetstream.ObjectMetaOptions{
		ChunkSize: uint32(min(payloadChunk, p.maxMessage())),
	}}
	_, err := natsstore.Retry(ctx, p.store, payloadTime(len(data)), func(ctx context.Context) (*jetstream.ObjectInfo, error) {
		store, err := p.store.JetStream().ObjectStore(ctx, payloadBucket)
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

// index returns the subject below which the payloads of a session are listed, with
// one message without content for each. It is among the subjects of the object
// store's chunks, which contain ids without dots. The subjects of the objects
// themselves encode the names, so that those of one session can't be selected.
func (p *payloads) index(sessionID string) string {
	return objectSubject("C", p.workspace+"."+sessionID)
}

func (p *payloads) prefix(sessionID string) string { return p.workspace + "/" + sessionID + "/" }

// name returns the name of the object that a session has stored a content as.
func (p *payloads) name(sessionID, sha256 string) string {
	return p.prefix(sessionID) + sha256[:min(32, len(sha256))]
}

func (p *payloads) get(ctx context.Context, ref *event.PayloadRef) ([]byte, error) {
	if ref.Bucket != payloadBucket || !strings.HasPrefix(ref.Name, p.workspace+"/") {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	data, err := p.object(ctx, ref.Name)
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s in %s: %w", ref.Name, ref.Bucket, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ref.SHA256 {
		return nil, fmt.Errorf("reading %s in %s: its hash differs: %w", ref.Name, ref.Bucket, ErrNoPayload)
	}
	return data, nil
}

// object returns the content of an object. The library's own Get hangs if the
// store moves to another process in the middle of it.
func (p *payloads) object(ctx context.Context, name string) ([]byte, error) {
	info, err := natsstore.Retry(ctx, p.store, 0, func(ctx context.Context) (*jetstream.ObjectInfo, error) {
		store, err := p.store.JetStream().ObjectStore(ctx, payloadBucket)
		if err != nil {
			return nil, err
		}
		return store.GetInfo(ctx, name)
	})
	if err != nil {
		return nil, err
	}
	stream, err := p.store.JetStream().Stream(ctx, PayloadStream)
	if err != nil {
		return nil, err
	}
	var data []byte
	for chunk, err := range (reader{p.store}).contents(ctx, stream, objectSubject("C", info.NUID)) {
		if err != nil {
			return nil, err
		}
		data = append(data, chunk...)
	}
	return data, nil
}

// objectSubject returns a subject of an object, as ADR-20 of NATS defines it: of its chunks
// ("C") by its id, or of its metadata ("M") by its encoded name.
func objectSubject(kind, of string) string { return "$O." + payloadBucket + "." + kind + "." + of }

// reference is published instead of a large event.
type reference struct {
	Type string            `json:"type"`
	Ref  *event.PayloadRef `json:"payloadRef"`
}

var (
	refField     = []byte(`"payloadRef":`)
	missingField = []byte(`"missing":true`)
)

// resolve returns the event that raw refers to in its envelopes, or raw if it is not a
// reference. A reference without stored content is returned as missing.
func (p *payloads) resolve(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > messageOverhead*2 || !bytes.Contains(raw, refField) {
		return raw, nil
	}
	path, inner := event.Path{{}}, raw
	for {
		var head struct {
			reference
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
			return raw, nil // the word is in another field
		}
		body, err := p.get(ctx, head.Ref)
		if errors.Is(err, ErrNoPayload) {
			head.Ref.Missing = true
			body, err = json.Marshal(head.reference)
		}
		if err != nil {
			return nil, err
		}
		before, after := path.Envelope()
		return bytes.Join([][]byte{before, body, after}, nil), nil
	}
}

// purge deletes the payloads of a session, which the index lists.
func (p *payloads) purge(ctx context.Context, sessionID string) error {
	if p.stream.Load() == nil {
		opened, err := p.store.JetStream().Stream(ctx, PayloadStream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil // nothing was ever stored in it
		}
		if err != nil {
			return fmt.Errorf("opening the object store %s: %w", payloadBucket, err)
		}
		p.stream.Store(&opened)
	}
	stream, index := *p.stream.Load(), p.index(sessionID)
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(index+".*"))
	if errors.Is(err, jetstream.ErrStreamNotFound) { // somebody has deleted it
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the payloads of session %s: %w", sessionID, err)
	}
	if len(info.State.Subjects) == 0 {
		return nil
	}
	for subject := range info.State.Subjects {
		name := p.prefix(sessionID) + strings.TrimPrefix(subject, index+".")
		if err := purgeObject(ctx, stream, name); err != nil {
			return fmt.Errorf("deleting %s in %s: %w", name, payloadBucket, err)
		}
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(index+".*")); err != nil {
		return fmt.Errorf("deleting the list of payloads of session %s: %w", sessionID, err)
	}
	return nil
}

// purgeObject deletes an object. The library's own Delete leaves a marker for good.
// The content goes first: the name finds an object whose deletion was interrupted.
func purgeObject(ctx context.Context, stream jetstream.Stream, name string) error {
	metadata := objectSubject("M", base64.URLEncoding.EncodeToString([]byte(name)))
	last, err := stream.GetLastMsgForSubject(ctx, metadata)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil // storing it was interrupted
	}
	if err != nil {
		return err
	}
	var object jetstream.ObjectInfo
	if err := json.Unmarshal(last.Data, &object); err != nil {
		return err
	}
	if object.NUID == "" {
		return errors.New("its metadata has no id")
	}
	for _, subject := range []string{objectSubject("C", object.NUID), metadata} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

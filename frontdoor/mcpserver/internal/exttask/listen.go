package exttask

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client hears of tasks by "subscriptions/listen", which the SDK serves. The SDK drops
// the ids of the tasks from its params, acknowledges without them, and sends no
// notification that it does not know. So the transport keeps the ids in the _meta of the
// request ([KeepIDs]), and [Sender] adds them to the acknowledgement. A notification leaves
// the SDK under the name of one that no server of this program sends. The transport changes
// the name ([Rename], [Renaming]).

// Listen is the one method whose requests are answered only at the connection's end.
const Listen = "subscriptions/listen"

const (
	// keptIDs is where in its _meta a request has the ids.
	keptIDs = "agentworker/taskIds"

	// carrier is the name under which [Notify] leaves the SDK.
	carrier = "notifications/message"

	acknowledged = "notifications/subscriptions/acknowledged"
)

// maxIDs is of how many tasks one request can hear.
const maxIDs = 1000

// KeepIDs returns the params of a Listen request with the ids of the tasks in the
// _meta. It leaves params that can't be read to the SDK, which refuses them.
func KeepIDs(params json.RawMessage) json.RawMessage {
	var listen struct {
		Notifications struct {
			TaskIDs []string `json:"taskIds"`
		} `json:"notifications"`
	}
	ids := &listen.Notifications.TaskIDs
	if json.Unmarshal(params, &listen) != nil || len(*ids) == 0 {
		return params
	}
	return WithMeta(params, keptIDs, (*ids)[:min(len(*ids), maxIDs)])
}

// WithMeta returns the params of a request with a value in their _meta. It returns params
// that can't be read without a change.
func WithMeta(params json.RawMessage, key string, value any) json.RawMessage {
	var all, meta map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil || all == nil {
		return params
	}
	if raw, ok := all["_meta"]; ok && json.Unmarshal(raw, &meta) != nil {
		return params
	}
	if meta == nil {
		meta = make(map[string]json.RawMessage)
	}
	var err error
	if meta[key], err = json.Marshal(value); err != nil {
		return params
	}
	if all["_meta"], err = json.Marshal(meta); err != nil {
		return params
	}
	var changed bytes.Buffer
	enc := json.NewEncoder(&changed)
	enc.SetEscapeHTML(false) // the arguments of a call keep their length
	if enc.Encode(all) != nil {
		return params
	}
	return bytes.TrimSpace(changed.Bytes())
}

// KeepIDsIn is [KeepIDs] for an entire message.
func KeepIDsIn(body []byte) []byte {
	msg, err := jsonrpc.DecodeMessage(body)
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok || req.Method != Listen {
		return body
	}
	req.Params = KeepIDs(req.Params)
	kept, err := jsonrpc.EncodeMessage(req)
	if err != nil {
		return body
	}
	return kept
}

// Asked returns the ids of the tasks that a Listen request asks about.
func Asked(meta map[string]any) []string {
	all, _ := meta[keptIDs].([]any)
	var ids []string
	for _, one := range all {
		if id, ok := one.(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Listening is one Listen request that hears of tasks.
type Listening struct {
	ids     []string      // of the tasks that it hears of
	started chan struct{} // closed: it was acknowledged
	id      any           // of the subscription, once it was
}

// Started is closed once notifications may follow.
func (l *Listening) Started() <-chan struct{} { return l.started }

type listeningKey struct{}

// NewListening notes in the context of a Listen request which tasks it hears of. The
// request is acknowledged once.
func NewListening(ctx context.Context, ids []string) (context.Context, *Listening) {
	l := &Listening{ids: ids, started: make(chan struct{})}
	return context.WithValue(ctx, listeningKey{}, l), l
}

// ackParams are those of an acknowledgement.
type ackParams struct {
	mcp.ParamsBase
	Notifications struct {
		mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	} `json:"notifications"`
}

// notifyParams are those of [Notify].
type notifyParams struct {
	mcp.ParamsBase
	Task
}

// Sender sends what the SDK has no types for.
type Sender struct{ next mcp.MethodHandler }

// Middleware is for the messages that a server sends.
func (s *Sender) Middleware(next mcp.MethodHandler) mcp.MethodHandler {
	s.next = next
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		l, listens := ctx.Value(listeningKey{}).(*Listening)
		ack, acks := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
		session, ok := req.GetSession().(*mcp.ServerSession)
		if method != acknowledged || !listens || !acks || !ok {
			return next(ctx, method, req)
		}
		params := new(ackParams)
		params.Meta = ack.Meta
		params.Notifications.NotificationSubscriptions, params.Notifications.TaskIDs = ack.Notifications, l.ids
		l.id = ack.Meta[mcp.MetaKeySubscriptionID]
		defer close(l.started)
		return next(ctx, method, &mcp.ServerRequest[*ackParams]{Session: session, Params: params})
	}
}

// Notify tells the client of a Listen request that has started how a task is doing. ctx is
// the request's.
func (s *Sender) Notify(ctx context.Context, to *mcp.ServerSession, l *Listening, t *Task) error {
	params := &notifyParams{Task: *t}
	params.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: l.id}
	_, err := s.next(ctx, carrier, &mcp.ServerRequest[*notifyParams]{Session: to, Params: params})
	return err
}

// Rename gives a message of the SDK its own name.
func Rename(msg jsonrpc.Message) {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == carrier && !req.IsCall() {
		req.Method = Notify
	}
}

// Renaming is a writer of server-sent events that has [Rename] done. The SDK writes each
// event at once.
type Renaming struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w Renaming) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements [http.ResponseWriter].
func (w Renaming) Write(event []byte) (int, error) {
	head, message, found := bytes.Cut(event, []byte("data: "))
	if !found {
		return w.ResponseWriter.Write(event)
	}
	renamed, ok := bytes.CutPrefix(message, []byte(`{"jsonrpc":"2.0","method":"`+carrier+`"`))
	if !ok {
		return w.ResponseWriter.Write(event)
	}
	data := append(append(bytes.Clone(head), `data: {"jsonrpc":"2.0","method":"`+Notify+`"`...), renamed...)
	if _, err := w.ResponseWriter.Write(data); err != nil {
		return 0, err
	}
	return len(event), nil
}

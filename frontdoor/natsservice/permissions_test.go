package natsservice_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// guardedServer starts a server with the permissions that the documentation
// shows, and returns its address without a user.
func guardedServer(t *testing.T) string {
	t.Helper()
	for _, user := range []string{"WORKER", "SHOP", "SHOP_APPROVER", "SHOP_HISTORY"} {
		t.Setenv(user+"_PASSWORD", "pw-"+strings.ToLower(user))
	}
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "nats.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(docs), "```nats\n")
	config, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/reference/nats.md has no permissions")
	}
	var opts server.Options
	if err := opts.ProcessConfigString(config); err != nil {
		t.Fatal(err)
	}
	return natstest.Start(t, opts).ClientURL()
}

// natsClient is a client of the guarded server, with what the server has refused it.
type natsClient struct {
	t *testing.T
	*nats.Conn
	refused chan error
}

func newNATSClient(t *testing.T, url, user string) *natsClient {
	t.Helper()
	g := &natsClient{t: t, refused: make(chan error, 100)}
	var err error
	g.Conn, err = nats.Connect(url, nats.UserInfo(user, "pw-"+user), nats.CustomInboxPrefix("_INBOX_"+user),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { g.refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// denied checks that the server refuses what was just sent.
func (g *natsClient) denied(what string) {
	g.t.Helper()
	select {
	case err := <-g.refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			g.t.Errorf("%s: %v, want a permissions violation", what, err)
		}
	case <-time.After(time.Minute):
		g.t.Errorf("%s is not refused", what)
	}
}

// TestPermissions: with the permissions of the documentation each client can do
// what it is there for, and nothing else.
func TestPermissions(t *testing.T) {
	url := guardedServer(t)
	byWorker := strings.Replace(url, "://", "://worker:pw-worker@", 1)
	shop := newWorkerOf(t, "shop", byWorker, doortest.Asking, taskt.Limits{}, natsservice.Options{})
	newWorkerOf(t, "blog", byWorker, answer("x"), taskt.Limits{}, natsservice.Options{})

	checkLogins(t, url)

	// The client calls and follows; the approver answers.
	client, approver := newNATSClient(t, url, "shop"), newNATSClient(t, url, "shop_approver")
	doc, approval := approvedTask(t, client, approver)

	// What none of them may send.
	history := newNATSClient(t, url, "shop_history")
	for _, g := range []*natsClient{client, approver, history} {
		g.deniedAll(doc, approval)
	}
	for _, subject := range []string{"agents.v1.shop.service.approvals", "agents.v1.shop.service.answer"} {
		if err := client.PublishRequest(subject, client.NewInbox(), nil); err != nil {
			t.Fatal(err)
		}
		client.denied(subject)
	}

	// The history client reads the workspace's events.
	js, err := jetstream.New(history.Conn)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(t.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"agents.v1.shop.events." + doc.ParentID + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for last := ""; !strings.HasPrefix(last, `{"type":"session_end"`); events++ {
		msg, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatalf("after %d events: %v", events, err)
		}
		last = string(msg.Data())
	}
	// The filter in the subject counts.
	crossed := `{"stream_name":"AGENT_EVENTS","config":{"name":"c","filter_subject":"agents.v1.blog.events.>","ack_policy":"none","inactive_threshold":1000000000}}`
	msg, err := history.Request("$JS.API.CONSUMER.CREATE.AGENT_EVENTS.c.agents.v1.shop.events.>", []byte(crossed), time.Minute)
	if err != nil || !strings.Contains(string(msg.Data), "did not match filtered subject") {
		t.Errorf("a consumer with two filters: %v %s", err, msg.Data)
	}
	if r, err := shop.sessions.Index.Get(t.Context(), doc.SessionID); err != nil || r.Status != record.Completed {
		t.Errorf("the session after all that: %+v, %v", r, err)
	}
}

// checkLogins fails the test if the server admits anybody with a wrong login.
func checkLogins(t *testing.T, url string) {
	t.Helper()
	for _, login := range []string{"shop:wrong", "nobody:pw-shop", "", "worker:pw-shop"} {
		opts := []nats.Option{nats.UserInfo(login, "")}
		if user, password, ok := strings.Cut(login, ":"); ok {
			opts = []nats.Option{nats.UserInfo(user, password)}
		}
		if conn, err := nats.Connect(url, opts...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("login %q: %v, want a refusal", login, err)
			conn.Close()
		}
	}
}

// approvedTask makes a task call, whose approval the approver answers.
func approvedTask(t *testing.T, client, approver *natsClient) (doc taskt.Document, asked string) {
	t.Helper()
	live, err := client.SubscribeSync("agents.v1.shop.events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	replies := make(chan *nats.Msg, 1)
	go func() {
		msg, err := client.Request("agents.v1.shop.service.task", []byte(`{"description":"d","prompt":"p","agentType":"general"}`), time.Minute)
		if err != nil {
			t.Error(err)
			msg = new(nats.Msg)
		}
		replies <- msg
	}()
	for asked := false; !asked; {
		msg, err := live.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		asked = strings.HasSuffix(msg.Subject, ".tool_approval_required")
	}
	msg, err := approver.Request("agents.v1.shop.service.approvals", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	waits := decode[struct{ Approvals []approval.Approval }](t, msg.Data).Approvals
	if len(waits) != 1 {
		t.Fatalf("approvals %s", msg.Data)
	}
	if _, err := approver.Request("agents.v1.shop.service.answer", []byte(`{"approvalId":"`+waits[0].ID+`","approve":true}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	doc = decode[taskt.Document](t, (<-replies).Data)
	if doc.Status != record.Completed || !strings.Contains(doc.Text, "touched") {
		t.Errorf("document %+v", doc)
	}
	return doc, waits[0].ID
}

// deniedAll fails the test if a client may send or follow what none may.
func (g *natsClient) deniedAll(doc taskt.Document, approval string) {
	t := g.t
	t.Helper()
	for _, subject := range []string{
		"agents.v1.blog.service.task", "agents.v1.blog.service.answer", "agents.v1.shop.workers.take",
		"agents.v1.shop.events." + doc.ParentID + ".session_end", "agents.v1.shop.messages." + doc.SessionID,
		"$KV.AGENT_APPROVALS.shop." + approval, "$KV.AGENT_SESSIONS.shop." + doc.SessionID,
		"$JS.API.STREAM.INFO.AGENT_EVENTS", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.DELETE.AGENT_EVENTS",
		"$JS.API.STREAM.MSG.GET.KV_AGENT_APPROVALS", "$JS.API.DIRECT.GET.KV_AGENT_APPROVALS",
		"$JS.API.DIRECT.GET.KV_AGENT_APPROVALS.$KV.AGENT_APPROVALS.shop." + approval,
		"$JS.API.DIRECT.GET.AGENT_EVENTS", "$JS.API.CONSUMER.NAMES.AGENT_EVENTS",
		"$JS.API.CONSUMER.CREATE.AGENT_EVENTS", "$JS.API.CONSUMER.CREATE.AGENT_EVENTS.c",
		"$JS.API.CONSUMER.CREATE.AGENT_EVENTS.c.agents.v1.*.events.>", "$JS.API.CONSUMER.CREATE.AGENT_EVENTS.c.>",
		"$JS.API.CONSUMER.CREATE.AGENT_EVENTS.c.agents.v1.blog.events.>", "$JS.API.CONSUMER.CREATE.AGENT_MESSAGES.c.agents.v1.shop.messages.>",
		"$JS.API.CONSUMER.DURABLE.CREATE.AGENT_EVENTS.c",
	} {
		if err := g.PublishRequest(subject, g.NewInbox(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		g.denied(subject)
	}
	for _, subject := range []string{
		">", "agents.>", "agents.v1.*.events.>", "agents.v1.blog.events.>", "agents.v1.shop.service.task", "agents.v1.shop.workers.take",
		"agents.v1.shop.messages.>", "$KV.>", "$JS.>", "_INBOX.>", "_INBOX_worker.>",
	} {
		if _, err := g.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := g.Flush(); err != nil {
			t.Fatal(err)
		}
		g.denied("subscribing to " + subject)
	}
}

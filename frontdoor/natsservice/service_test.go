package natsservice_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

func TestTask(t *testing.T) {
	e := newEnv(t, answer("found it\n"), natsservice.Options{})
	msg := e.request(taskSubject, call, nil)
	doc := decode[taskt.Document](t, msg.Data)
	if len(msg.Header) > 0 || doc.Type != "task_result" || doc.Agent != "explore" || doc.Status != record.Completed || doc.Text != "found it\n" ||
		doc.Result != "<task_result agent=\"explore\">\nfound it\n</task_result>" || doc.SessionID == "" || doc.ParentID == "" {
		t.Errorf("%v %s", msg.Header, msg.Data)
	}
	for _, id := range []string{doc.SessionID, doc.ParentID} {
		if r, err := e.sessions.Index.Get(t.Context(), id); err != nil || r.Status != record.Completed {
			t.Errorf("session %s: %+v, %v", id, r, err)
		}
	}
}

// TestFailedTask: a task that fails is an answer.
func TestFailedTask(t *testing.T) {
	e := newEnv(t, answer(""), natsservice.Options{})
	msg := e.request(taskSubject, call, nil)
	if doc := decode[taskt.Document](t, msg.Data); doc.Type != "task_error" || doc.Status != record.Failed || doc.Error == "" || len(msg.Header) > 0 {
		t.Errorf("%v %s", msg.Header, msg.Data)
	}
}

// TestDiscovery: what NATS tools show of the service.
func TestDiscovery(t *testing.T) {
	const service = "agents.v1.ws.service."
	e := newEnv(t, answer("x"), natsservice.Options{})
	info := decode[micro.Info](t, e.request("$SRV.INFO.agentworker", "", nil).Data)
	var subjects []string
	for _, ep := range info.Endpoints {
		subjects = append(subjects, ep.Subject)
	}
	if info.Metadata["workspace"] != "ws" || info.Version != "1.0.0" || !slices.Equal(subjects, []string{
		taskSubject, taskSubject + "_list", taskSubject + "_wait", taskSubject + "_result", taskSubject + "_send", taskSubject + "_stop", taskSubject + "_background",
		service + "session_apply", service + "session_discard", service + "session_summary", service + "session_delete", service + "agents", service + "approvals", service + "answer",
	}) {
		t.Errorf("endpoints %q, metadata %v, version %s", subjects, info.Metadata, info.Version)
	}
	for _, ep := range info.Endpoints {
		if ep.Metadata["description"] == "" {
			t.Errorf("%s has no description", ep.Subject)
		}
		if err := resolve(t, ep.Metadata["request_schema"]).Validate([]any{}); err == nil {
			t.Errorf("%s takes an array", ep.Subject)
		}
	}
	task := resolve(t, info.Endpoints[0].Metadata["request_schema"])
	for body, want := range map[string]bool{
		call: true, background: true, `{"description":"a look","agentType":"explore"}`: false, `{"description":"d","prompt":"p","agentType":"a","unknown":1}`: false,
		`{"description":"d","prompt":"p","agentType":"a","label":"l","metadata":{"a":1},"detached":true,"checks":[{"command":"go test"}],"budget":"10000 tokens","effort":"low","residentFile":"a"}`: true,
	} {
		if err := task.Validate(decode[any](t, []byte(body))); (err == nil) != want {
			t.Errorf("the schema of %s: %v", body, err)
		}
	}
	agents := decode[struct{ Agents []taskt.Agent }](t, e.request("agents.v1.ws.service.agents", "", nil).Data).Agents
	if len(agents) != 2 || agents[0].Name != "explore" || agents[0].Description == "" || agents[1].Name != "general" {
		t.Errorf("agents %+v", agents)
	}
}

// dataOf returns the data of a message, if there is one.
func dataOf(msg jetstream.Msg) []byte {
	if msg == nil {
		return nil
	}
	return msg.Data()
}

// untilEnd returns the events that next returns, up to the end of the session.
func untilEnd(t *testing.T, next func() ([]byte, error)) (events []string) {
	t.Helper()
	for {
		data, err := next()
		if err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		if events = append(events, string(data)); events[len(events)-1] == `{"type":"session_end","status":"completed"}` {
			return events
		}
	}
}

// TestFollow: a client that has only the server's address learns, while the task runs,
// where its events are. It reads all of them there, and hears the ones to come.
func TestFollow(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{})
	inbox := e.client.NewInbox()
	announced, err := e.client.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan *nats.Msg, 1)
	go func() {
		replies <- e.request(taskSubject, call, nats.Header{natsservice.SessionHeader: {inbox}})
	}()
	msg, err := announced.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	opened := decode[natsservice.Opened](t, msg.Data)
	<-g.started
	js, err := jetstream.New(e.client)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(t.Context(), opened.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{opened.Subject}})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	first, err := messages.Next(jetstream.NextMaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{string(first.Data())}

	plain, err := e.client.SubscribeSync(opened.Subject) // so late that it misses the first event
	if err == nil {
		err = e.client.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	close(g.open)
	got = append(got, untilEnd(t, func() ([]byte, error) {
		msg, err := messages.Next(jetstream.NextMaxWait(time.Minute))
		return dataOf(msg), err
	})...)
	heard := untilEnd(t, func() ([]byte, error) {
		msg, err := plain.NextMsg(time.Minute)
		if err != nil {
			return nil, err
		}
		return msg.Data, nil
	})
	if len(heard) >= len(got) || !slices.Equal(heard, got[len(got)-len(heard):]) {
		t.Errorf("heard %v\nof %v", heard, got)
	}

	doc := decode[taskt.Document](t, (<-replies).Data)
	if doc.ParentID != opened.RootSessionID {
		t.Errorf("announced %s, the root is %s", opened.RootSessionID, doc.ParentID)
	}
	record, err := e.sessions.Index.Get(t.Context(), opened.RootSessionID)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for d, err := range e.bus.Follow(t.Context(), record.Path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(d.Raw))
	}
	if !slices.Equal(got, want) || !strings.Contains(want[0], opened.RootSessionID) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestErrors(t *testing.T) {
	e := newEnv(t, answer("x"), natsservice.Options{})
	tests := []struct {
		body, announce   string
		code, kind, says string
	}{
		{"rubbish", "", "400", "bad_request", "not JSON"},
		{"", "", "400", "bad_request", ""},
		{call + call, "", "400", "bad_request", "not JSON"},
		{`{"prompt":"p","agentType":"explore","sudo":true}`, "", "400", "bad_request", "sudo"},
		{`{"prompt":"\n","agentType":"explore"}`, "", "400", "bad_request", "prompt"},
		{`{"prompt":"p","agentType":"nobody"}`, "", "422", "unknown_agent", "explore, general"},
		{`{"prompt":"p","agentType":"no\r\nbody"}`, "", "422", "unknown_agent", "explore, general"},
		{call, "agents.v1.ws.events.ses_x.turn_complete", "400", "bad_request", "cannot be published on"},
		{call, "$JS.API.STREAM.DELETE.AGENT_EVENTS", "400", "bad_request", "cannot be published on"},
		{call, "a.*", "400", "bad_request", "cannot be published on"},
		{call, "a.>", "400", "bad_request", "cannot be published on"},
		{call, "a..b", "400", "bad_request", "cannot be published on"},
		{call, "a b", "400", "bad_request", "cannot be published on"},
		{call, ".", "400", "bad_request", "cannot be published on"},
	}
	for _, tt := range tests {
		header := nats.Header{}
		if tt.announce != "" {
			header.Set(natsservice.SessionHeader, tt.announce)
		}
		msg := e.request(taskSubject, tt.body, header)
		got := decode[struct {
			Error struct{ Code, Message string }
		}](t, msg.Data).Error
		if msg.Header.Get(micro.ErrorCodeHeader) != tt.code || msg.Header.Get(micro.ErrorHeader) == "" ||
			got.Code != tt.kind || !strings.Contains(got.Message, tt.says) {
			t.Errorf("%.60s %s: %v %s, want %s %s %q", tt.body, tt.announce, msg.Header, msg.Data, tt.code, tt.kind, tt.says)
		}
	}
	// Where nobody listens, or the worker would write where the caller may
	// not, there is no answer either.
	for _, reply := range []string{"", "agents.v1.ws.events.ses_x.turn_complete", "$JS.API.STREAM.DELETE.AGENT_EVENTS"} {
		if err := e.client.PublishMsg(&nats.Msg{Subject: taskSubject, Reply: reply, Data: []byte(call)}); err != nil {
			t.Fatal(err)
		}
	}
	e.request("agents.v1.ws.service.agents", "", nil)
	if doc := decode[taskt.Document](t, e.request(taskSubject, call, nil).Data); doc.Type != "task_result" {
		t.Errorf("a good call after them: %+v", doc)
	}
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 2 {
		t.Errorf("%d sessions, %v, want those of the good call", len(records), err)
	}
}

func TestBusy(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{MaxCalls: 1})
	replies := make(chan *nats.Msg, 1)
	go func() { replies <- e.request(taskSubject, call, nil) }()
	<-g.started
	if msg := e.request(taskSubject, call, nil); msg.Header.Get(micro.ErrorCodeHeader) != "429" {
		t.Errorf("the second call: %v %s", msg.Header, msg.Data)
	}
	close(g.open)
	if doc := decode[taskt.Document](t, (<-replies).Data); doc.Type != "task_result" {
		t.Errorf("the first call: %+v", doc)
	}
}

// TestTooLarge: an answer that the server does not take is said to be so.
func TestTooLarge(t *testing.T) {
	text := bytes.Repeat([]byte("x"), 40<<10) // twice in the document
	e := newEnv(t, answer(string(text)), natsservice.Options{})
	msg := e.request(taskSubject, call, nil)
	if msg.Header.Get(micro.ErrorCodeHeader) != "413" || !strings.Contains(string(msg.Data), "events of session ses_") {
		t.Errorf("%v %.200s", msg.Header, msg.Data)
	}
}

// TestShutdown: calls that run are cancelled and answered; after that nobody
// is there to answer.
func TestShutdown(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, natsservice.Options{})
	const calls = 3
	replies := make(chan *nats.Msg, calls)
	for range calls {
		go func() { replies <- e.request(taskSubject, call, nil) }()
	}
	for range calls {
		<-g.started
	}
	e.stop()
	if err := e.service.Wait(); err != nil {
		t.Error(err)
	}
	for range calls {
		msg := <-replies
		if doc := decode[taskt.Document](t, msg.Data); doc.Type != "task_error" || doc.Status != record.Cancelled {
			t.Errorf("%v %s", msg.Header, msg.Data)
		}
	}
	if _, err := e.client.Request(taskSubject, []byte(call), time.Minute); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after the end: %v, want no responders", err)
	}
	records, err := e.sessions.Index.List(t.Context())
	if err != nil || len(records) != 2*calls {
		t.Fatal(len(records), err)
	}
	for _, r := range records {
		if r.Status != record.Cancelled {
			t.Errorf("session %s is %s", r.ID, r.Status)
		}
	}
}

// BenchmarkTask measures a call over NATS with a model that answers at once.
// The store's synchronous writes limit it, as they do the task service itself.
func BenchmarkTask(b *testing.B) {
	e := newEnv(b, answer("ok"), natsservice.Options{})
	for b.Loop() {
		e.request(taskSubject, call, nil)
	}
}

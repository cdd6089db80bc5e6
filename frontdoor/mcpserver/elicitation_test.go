package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
)

// generations are the newest version of each way to ask a client.
var generations = []string{"2025-11-25", "2026-07-28"}

// asking is rules that ask about the shell, and what "always" has added.
type asking struct {
	mu     sync.Mutex
	always []string
}

func (a *asking) Rules() (*permission.Ruleset, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rules := []permission.Rule{
		{Tool: "*", Pattern: "*", Action: permission.Allow},
		{Tool: "shell_exec", Pattern: "*", Action: permission.Ask},
	}
	for _, p := range a.always {
		rules = append(rules, permission.Rule{Tool: "shell_exec", Pattern: p, Action: permission.Allow})
	}
	return permission.NewRuleset(rules...)
}

func (a *asking) Allow(_ string, patterns []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always = append(a.always, patterns...)
	return nil
}

// shell calls shell_exec with each line of the prompt for a command, those of a
// line with tabs between them at once, and answers with what came of them.
type shell struct{}

func (shell) Name() string { return "shell" }

func (shell) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		outcomes, step := "outcome:", 0
		for _, msg := range req.Messages {
			if len(msg.ToolCalls) > 0 {
				step++
			}
			for _, res := range msg.ToolResults {
				outcomes += " " + res.Text
			}
		}
		lines := strings.Split(req.Messages[0].Text, "\n")
		if step == len(lines) {
			_ = yield(model.TextDelta{Text: outcomes}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
			return
		}
		for i, command := range strings.Split(lines[step], "\t") {
			args, err := json.Marshal(map[string]string{"command": command})
			if !yield(model.ToolCall{ID: fmt.Sprintf("%d.%d", step, i), Name: "shell_exec", Arguments: string(args)}, err) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopToolCalls}, nil)
	}
}

func elicit(answer func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: answer}
}

// choices returns the decisions that a form offers.
func choices(t testing.TB, req *mcp.ElicitRequest) []string {
	t.Helper()
	data, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		t.Error(err)
	}
	var schema struct {
		Properties struct{ Decision struct{ Enum []string } }
		Required   []string
	}
	if err := json.Unmarshal(data, &schema); err != nil || !slices.Equal(schema.Required, []string{"decision"}) {
		t.Errorf("schema %s, %v", data, err)
	}
	return schema.Properties.Decision.Enum
}

// TestApprovalForm: the host's user answers what the rules ask, in both
// generations of the protocol.
func TestApprovalForm(t *testing.T) {
	for _, version := range generations {
		for _, tt := range []struct {
			name    string
			answer  *mcp.ElicitResult
			want    string // in the child's answer
			always  []string
			outcome event.ApprovalOutcome
		}{
			{"once", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, "hello", nil, event.Approved},
			{"always", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow always"}}, "hello", []string{"echo *"}, event.Approved},
			{"deny", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny", "reason": "use\nprintf"}}, "The user denied shell_exec: use printf", nil, event.Denied},
			{"decline", &mcp.ElicitResult{Action: "decline"}, "declined in MCP host test-host 1.2.3.", nil, event.Denied},
		} {
			t.Run(version+" "+tt.name, func(t *testing.T) {
				rules := new(asking)
				e := setup{model: shell{}, rules: rules, options: mcpserver.Options{Reflex: time.Nanosecond}}.open(t)
				asked := 0
				host := e.connectAs(t, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					for _, want := range []string{"general: shell_exec echo hello\n", `"allow always" adds a rule for shell_exec: echo *`} {
						if !strings.Contains(req.Params.Message, want) {
							t.Errorf("the form lacks %q:\n%s", want, req.Params.Message)
						}
					}
					if got, want := choices(t, req), []string{"deny", "allow once", "allow always"}; !slices.Equal(got, want) {
						t.Errorf("choices %q, want %q", got, want)
					}
					return tt.answer, nil
				}))
				res := callTool(t, host, "task", call("general", "echo hello").Arguments)
				if got := text(t, res); res.IsError || !strings.Contains(got, tt.want) || asked != 1 {
					t.Errorf("%q after %d questions, want one, and %q", got, asked, tt.want)
				}
				if !slices.Equal(rules.always, tt.always) {
					t.Errorf("rules for always: %q, want %q", rules.always, tt.always)
				}
			})
		}
	}
}

// TestNoAlways: where no rule would let the call through, there is no such
// answer; what nobody sees is not approved.
func TestNoAlways(t *testing.T) {
	for _, command := range []string{"echo $(cat x)", "echo " + strings.Repeat("a", 5000) + "; rm x"} {
		e := setup{model: shell{}, rules: new(asking)}.open(t)
		host := e.connectAs(t, "test-host", "2025-11-25", elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			offers := slices.Contains(choices(t, req), "allow always")
			if says := strings.Contains(req.Params.Message, "allow always"); says != offers {
				t.Errorf("%.30s: always is offered %v and explained %v", command, offers, says)
			}
			if offers && len(command) > 1000 {
				t.Errorf("%.30s: always is offered", command)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, nil
		}))
		if got := text(t, callTool(t, host, "task", call("general", command).Arguments)); !strings.Contains(got, "The user denied shell_exec.") {
			t.Errorf("%.30s: %q", command, got)
		}
	}
}

// pending returns the one approval that waits.
func (e *env) pending(t testing.TB) *session.Approval {
	t.Helper()
	approvals, err := e.sessions.Store().Approvals(context.Background())
	if err != nil || len(approvals) != 1 {
		t.Fatalf("%d approvals wait, %v, want one", len(approvals), err)
	}
	return approvals[0]
}

func (e *env) approve(t testing.TB, a *session.Approval) {
	t.Helper()
	if _, err := e.sessions.Store().Answer(context.Background(), a.ID, session.Answer{Verdict: session.ApproveOnce}); err != nil {
		t.Error(err)
	}
}

// TestNoAnswer: a form that is dismissed, sent back with rubbish or fails leaves
// the call waiting for an answer from elsewhere.
func TestNoAnswer(t *testing.T) {
	for _, version := range generations {
		for name, tt := range map[string]struct {
			answer *mcp.ElicitResult
			reflex time.Duration
		}{
			"cancel":            {&mcp.ElicitResult{Action: "cancel"}, time.Hour},
			"an unknown action": {&mcp.ElicitResult{Action: "perhaps"}, time.Hour},
			"no content":        {&mcp.ElicitResult{Action: "accept"}, time.Nanosecond},
			"decline at once":   {&mcp.ElicitResult{Action: "decline"}, time.Hour},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Reflex: tt.reflex}}.open(t)
				var others sync.WaitGroup
				defer others.Wait()
				host := e.connectAs(t, "test-host", version, elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					a := e.pending(t)
					others.Go(func() { e.approve(t, a) })
					return tt.answer, nil
				}))
				if got := text(t, callTool(t, host, "task", call("general", "echo hello").Arguments)); !strings.Contains(got, "hello") {
					t.Errorf("%q, want it approved elsewhere", got)
				}
			})
		}
	}
	t.Run("an error", func(t *testing.T) {
		e := setup{model: shell{}, rules: new(asking)}.open(t)
		var others sync.WaitGroup
		defer others.Wait()
		host := e.connectAs(t, "test-host", "2025-11-25", elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a := e.pending(t)
			others.Go(func() { e.approve(t, a) })
			return nil, errors.New("no screen")
		}))
		if got := text(t, callTool(t, host, "task", call("general", "echo hello").Arguments)); !strings.Contains(got, "hello") {
			t.Errorf("%q, want it approved elsewhere", got)
		}
	})
}

// TestNotAsked: a client whose capabilities name no form is asked nothing; its
// progress says where to answer.
func TestNotAsked(t *testing.T) {
	for _, version := range generations {
		e := setup{model: shell{}, rules: new(asking)}.open(t)
		p := newProgress()
		opts := p.options()
		opts.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}
		opts.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			t.Error("the client was asked")
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		host := e.connectAs(t, "test-host", version, opts)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			err := p.await(t.Context(), "tok", func(got []string) bool {
				return slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, "waits for 'worker approvals approve apr_") })
			})
			if err != nil {
				t.Error(err)
				return
			}
			e.approve(t, e.pending(t))
		})
		res, err := host.CallTool(t.Context(), withToken(call("general", "echo hello"), "tok"))
		waiting.Wait()
		if err != nil || !strings.Contains(text(t, res), "hello") {
			t.Errorf("%s: %v, %v", version, res, err)
		}
	}
}

// TestNeverAnswered: a client that never answers holds up nobody else, and its
// question is withdrawn when somebody else has answered it.
func TestNeverAnswered(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	asked, withdrawn := make(chan struct{}), make(chan struct{})
	host := e.connectAs(t, "test-host", "2025-11-25", elicit(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		close(withdrawn)
		return nil, ctx.Err()
	}))
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := host.CallTool(t.Context(), call("general", "echo hello"))
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-asked
	if got := text(t, callTool(t, host, "agents_list", nil)); !strings.Contains(got, "general") {
		t.Errorf("agents_list beside it: %q", got)
	}
	if got := text(t, callTool(t, e.connect(t, nil), "task", call("nobody", "x").Arguments)); !strings.Contains(got, "accepted: ") {
		t.Errorf("another host's call beside it: %q", got)
	}
	e.approve(t, e.pending(t))
	<-withdrawn
	if got := text(t, <-done); !strings.Contains(got, "hello") {
		t.Errorf("%q, want it approved elsewhere", got)
	}
}

// modernMeta is what each request of the newest protocol has, with forms.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"2"}}`

// inputRequired is a result that asks for more.
type inputRequired struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct{ Method string }
	Meta          struct{ SessionID string } `json:"_meta"`
	Content       []struct{ Text string }
	IsError       bool
}

func (r *raw) rounds(line string) (out inputRequired) {
	r.t.Helper()
	r.send(line)
	_, result, failure := r.answer()
	if err := json.Unmarshal(result, &out); err != nil {
		r.t.Fatalf("%s: %s %s, %v", line, result, failure, err)
	}
	return out
}

// TestRounds: in the newest protocol the question is the call's result. The
// child lives until the call is made again, on the same connection alone, and
// its result is there for who never does.
func TestRounds(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r, other := e.raw(t.Context(), t), e.raw(t.Context(), t)
	const again = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"description":"d","prompt":"echo hello","agentType":"general"},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},` + modernMeta + `}}`
	first := r.rounds(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"},` + modernMeta + `}}`)
	a := e.pending(t)
	if first.ResultType != "input_required" || len(first.RequestState) < 20 || len(first.InputRequests) != 1 || first.InputRequests[a.ID].Method != "elicitation/create" || first.Meta.SessionID != a.SessionID {
		t.Fatalf("the first answer: %+v, want the question %s", first, a.ID)
	}
	for name, got := range map[string]inputRequired{
		"another connection": other.rounds(fmt.Sprintf(again, 1, "task", first.RequestState, a.ID)),
		"another state":      r.rounds(fmt.Sprintf(again, 2, "task", first.RequestState+"A", a.ID)),
		"task_wait, another": r.rounds(fmt.Sprintf(again, 3, "task_wait", "A", a.ID)),
	} {
		if !got.IsError || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "answers no question of this connection") {
			t.Errorf("%s: %+v, want it refused", name, got)
		}
	}
	if !e.pending(t).Pending() {
		t.Error("a refused answer counted")
	}
	last := r.rounds(fmt.Sprintf(again, 4, "task", first.RequestState, a.ID))
	if last.ResultType != "complete" || last.IsError || !strings.Contains(last.Content[0].Text, "hello") {
		t.Errorf("the last answer: %+v", last)
	}
	if got := r.rounds(fmt.Sprintf(again, 5, "task", first.RequestState, a.ID)); !got.IsError {
		t.Errorf("the same once more: %+v, want it refused", got)
	}

	// The host never makes the call again.
	lost := r.rounds(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo lost","agentType":"general"},` + modernMeta + `}}`)
	e.approve(t, e.pending(t))
	got := r.rounds(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q},`+modernMeta+`}}`, lost.Meta.SessionID))
	if len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "lost") {
		t.Errorf("task_wait: %+v", got)
	}
	for _, conn := range []*raw{r, other} {
		if err := conn.in.Close(); err != nil {
			t.Fatal(err)
		}
		conn.end()
	}
}

// TestRoundsForgotten: of calls without end that wait for one child and are not
// made again, the last ones are remembered.
func TestRoundsForgotten(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r := e.raw(t.Context(), t)
	first := r.rounds(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"},` + modernMeta + `}}`)
	last := first
	for range 20 {
		last = r.rounds(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_wait","arguments":{"sessionId":%q},`+modernMeta+`}}`, first.Meta.SessionID))
	}
	const again = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"task_wait","arguments":{},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":"allow once"}}},` + modernMeta + `}}`
	a := e.pending(t)
	if got := r.rounds(fmt.Sprintf(again, first.RequestState, a.ID)); !got.IsError {
		t.Errorf("the first of 21: %+v, want it forgotten", got)
	}
	if got := r.rounds(fmt.Sprintf(again, last.RequestState, a.ID)); got.IsError || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "hello") {
		t.Errorf("the last of 21: %+v, want the answer", got)
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}

// TestNotOffered: a rule of which the form has not shown all is not added,
// whatever the form comes back with.
func TestNotOffered(t *testing.T) {
	rules := new(asking)
	e := setup{model: shell{}, rules: rules}.open(t)
	r := e.raw(t.Context(), t)
	first := r.rounds(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"echo %s","agentType":"general"},`+modernMeta+`}}`, strings.Repeat("a", 5000)))
	a := e.pending(t)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task","arguments":{},"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"decision":"allow always"}}},`+modernMeta+`}}`, first.RequestState, a.ID),
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"agents_list","arguments":{},`+modernMeta+`}}`)
	r.expect("3") // the other one waits on
	e.approve(t, a)
	if result, _ := r.expect("2"); !strings.Contains(string(result), "exit status 0") || len(rules.always) > 0 {
		t.Errorf("%.300s with the rules %.100q, want it approved elsewhere, and no rule", result, rules.always)
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}

// TestMuddled: a client that has shaken hands with the version that has no
// handshake is asked nothing.
func TestMuddled(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking)}.open(t)
	r := e.raw(t.Context(), t)
	r.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	r.expect("0")
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"}}}`)
	for r.lines.Scan() {
		var msg struct {
			ID     int
			Method string
			Params struct{ Message string }
			Result inputRequired
		}
		if err := json.Unmarshal(r.lines.Bytes(), &msg); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(msg.Params.Message, "worker approvals approve") {
			e.approve(t, e.pending(t))
		}
		if msg.Method == "elicitation/create" || msg.Result.InputRequests != nil {
			t.Errorf("it is asked: %s", r.lines.Text())
		}
		if msg.ID == 1 {
			if len(msg.Result.Content) != 1 || !strings.Contains(msg.Result.Content[0].Text, "hello") {
				t.Errorf("%s", r.lines.Text())
			}
			break
		}
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.end()
}

// TestSeveralQuestions: calls of one step that wait at once are each asked about
// once, in both generations.
func TestSeveralQuestions(t *testing.T) {
	for _, version := range generations {
		e := setup{model: shell{}, rules: new(asking)}.open(t)
		var mu sync.Mutex
		asked := make(map[string]int)
		host := e.connectAs(t, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			decision := "allow once"
			for _, word := range []string{"one", "two", "three"} {
				if strings.Contains(req.Params.Message, "shell_exec echo "+word+"\n") {
					asked[word]++
					if word == "two" {
						decision = "deny"
					}
				}
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
		}))
		got := text(t, callTool(t, host, "task", call("general", "echo one\techo two\techo three").Arguments))
		if !strings.Contains(got, "outcome: one\n(exit status 0) The user denied shell_exec. three\n") || len(asked) != 3 || asked["one"]+asked["two"]+asked["three"] != 3 {
			t.Errorf("%s: %q after the questions %v", version, got, asked)
		}
	}
}

// TestManyRounds: a client of the newest protocol is not asked without end; what
// it is not asked waits for an answer from elsewhere.
func TestManyRounds(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), files: map[string]string{"general.md": "---\ndescription: D.\nmaxSteps: 20\npermission: allow\n---\n"}}.open(t)
	const rounds = 8
	asked := 0
	opts := elicit(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
	})
	opts.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if strings.Contains(req.Params.Message, "worker approvals approve") && strings.Contains(req.Params.Message, "echo late") {
			if approvals, err := e.sessions.Store().Approvals(context.Background()); err != nil || len(approvals) > 0 {
				e.approve(t, e.pending(t))
			}
		}
	}
	host := e.connectAs(t, "test-host", "2026-07-28", opts)
	commands := strings.Repeat("echo early\n", rounds) + "echo late"
	res, err := host.CallTool(t.Context(), withToken(call("general", commands), "tok"))
	if err != nil || strings.Count(text(t, res), "early") != rounds || strings.Count(text(t, res), "late") != 1 || asked != rounds {
		t.Errorf("%v, %v after %d questions, want %d", res, err, asked, rounds)
	}
}

// TestAskedAgain: a question that is open when its call has to be answered is
// withdrawn, and put again by the call that waits next.
func TestAskedAgain(t *testing.T) {
	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{CallLimit: 200 * time.Millisecond}}.open(t)
	withdrawn := make(chan struct{}, 100)
	var answer atomic.Bool
	host := e.connectAs(t, "test-host", "2025-11-25", elicit(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if answer.Load() {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
		}
		<-ctx.Done()
		withdrawn <- struct{}{}
		return nil, ctx.Err()
	}))
	res := callTool(t, host, "task", call("general", "echo hello").Arguments)
	<-withdrawn
	answer.Store(true)
	for res.Meta["status"] == "running" {
		res = callTool(t, host, "task_wait", bySession(res.Meta["sessionId"]))
	}
	if !strings.Contains(text(t, res), "hello") {
		t.Errorf("%q", text(t, res))
	}
}

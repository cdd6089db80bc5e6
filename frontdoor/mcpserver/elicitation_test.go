package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// generations are the newest version of each way to ask a client.
var generations = []string{"2025-11-25", "2026-07-28"}

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
			{"always", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow always"}}, "hello", []string{"echo", "echo *"}, event.Approved},
			{"deny", &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny", "reason": "use\nprintf"}}, "The user denied shell_exec: use printf", nil, event.Denied},
			{"decline", &mcp.ElicitResult{Action: "decline"}, "declined in MCP host test-host 1.2.3.", nil, event.Denied},
		} {
			t.Run(version+" "+tt.name, func(t *testing.T) {
				rules := new(asking)
				e := setup{model: shell{}, rules: rules, options: mcpserver.Options{Reflex: time.Nanosecond}}.open(t)
				asked := 0
				host := e.connectAs(t, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					for _, want := range []string{"general asks to run echo hello\n", `"allow always" adds a rule for shell_exec: echo *`} {
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
				if strings.Contains(req.Params.Message, "run echo "+word+"\n") {
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

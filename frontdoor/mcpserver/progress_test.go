package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/model"
)

// progress is what a host is told, by token.
type progress struct {
	mu   sync.Mutex
	got  map[any][]*mcp.ProgressNotificationParams
	told chan struct{} // has room for one: something has arrived
}

func newProgress() *progress {
	return &progress{got: make(map[any][]*mcp.ProgressNotificationParams), told: make(chan struct{}, 1)}
}

func (p *progress) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		p.mu.Lock()
		p.got[req.Params.ProgressToken] = append(p.got[req.Params.ProgressToken], req.Params)
		p.mu.Unlock()
		select {
		case p.told <- struct{}{}:
		default:
		}
	}}
}

func (p *progress) messages(token any) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, n := range p.got[token] {
		all = append(all, n.Message)
	}
	return all
}

// await waits until the messages for a token satisfy ok.
func (p *progress) await(ctx context.Context, token any, ok func([]string) bool) error {
	for !ok(p.messages(token)) {
		select {
		case <-p.told:
		case <-ctx.Done():
			return fmt.Errorf("%w; told so far: %q", ctx.Err(), p.messages(token))
		}
	}
	return nil
}

func withToken(params *mcp.CallToolParams, token any) *mcp.CallToolParams {
	params.SetProgressToken(token)
	return params
}

// TestProgress: the host is notified of the step and the tool call before the child goes
// on.
func TestProgress(t *testing.T) {
	p := newProgress()
	m := func(ctx context.Context, _ string, answers int) (model.Part, error) {
		switch answers {
		case 0:
			return model.ToolCall{ID: "1", Name: "list_dir", Arguments: `{"path":"."}`}, nil
		default:
			err := p.await(ctx, "tok", func(got []string) bool {
				return slices.ContainsFunc(got, func(m string) bool { return strings.HasPrefix(m, "explore: step 1: list_dir . (") })
			})
			return model.TextDelta{Text: "done"}, err
		}
	}
	e := newEnv(t, modelFunc(m), 0, nil)
	host := e.connect(t, p.options())
	res, err := host.CallTool(t.Context(), withToken(call("explore", "p"), "tok"))
	if err != nil || res.IsError {
		t.Fatalf("%v, %v", err, res)
	}
	p.mu.Lock()
	last := 0.0
	for i, n := range p.got["tok"] {
		if n.Progress <= last {
			t.Errorf("notification %d: progress %v after %v", i, n.Progress, last)
		}
		last = n.Progress
	}
	p.mu.Unlock()
	if got := p.messages("tok"); !strings.HasPrefix(got[0], "explore: queued (") || !strings.HasPrefix(got[1], "explore: thinking (") {
		t.Errorf("the first messages are %q", got)
	}
	// Without a token there is none.
	told := len(p.got)
	if _, err := host.CallTool(t.Context(), call("explore", "other")); err != nil || len(p.got) != told {
		t.Errorf("without a token: %v, progress for %d tokens, want %d", err, len(p.got), told)
	}
}

// TestSilence: a child that says nothing is still reported on.
func TestSilence(t *testing.T) {
	p := newProgress()
	m := func(ctx context.Context, _ string, _ int) (model.Part, error) {
		err := p.await(ctx, "tok", func(got []string) bool {
			n := 0
			for _, m := range got {
				if strings.HasPrefix(m, "explore: thinking (") {
					n++
				}
			}
			return n >= 3
		})
		return model.TextDelta{Text: "done"}, err
	}
	e := newEnv(t, modelFunc(m), 10*time.Millisecond, nil)
	res, err := e.connect(t, p.options()).CallTool(t.Context(), withToken(call("explore", "p"), "tok"))
	if err != nil || res.IsError {
		t.Fatalf("%v, %v", err, res)
	}
}

// TestProgressParallel: calls at once get the progress of their own child. Each child goes
// on when its host was notified of it.
func TestProgressParallel(t *testing.T) {
	p := newProgress()
	waits := sync.Mutex{} // p.told wakes one waiter
	m := func(ctx context.Context, prompt string, answers int) (model.Part, error) {
		if answers == 0 {
			return model.ToolCall{ID: "1", Name: "glob", Arguments: fmt.Sprintf(`{"pattern":"%s.*"}`, prompt)}, nil
		}
		waits.Lock()
		defer waits.Unlock()
		err := p.await(ctx, prompt, func(got []string) bool {
			return slices.ContainsFunc(got, func(m string) bool { return strings.Contains(m, "glob "+prompt+".*") })
		})
		return model.TextDelta{Text: "done"}, err
	}
	e := newEnv(t, modelFunc(m), 0, nil)
	host := e.connect(t, p.options())
	var calls sync.WaitGroup
	for i := range 12 {
		calls.Go(func() {
			prompt := fmt.Sprintf("p%d", i)
			res, err := host.CallTool(t.Context(), withToken(call("explore", prompt), prompt))
			if err != nil || res.IsError {
				t.Errorf("%s: %v, %v", prompt, err, res)
			}
		})
	}
	calls.Wait()
	for i := range 12 {
		prompt := fmt.Sprintf("p%d", i)
		for _, m := range p.messages(prompt) {
			if strings.Contains(m, "glob") && !strings.Contains(m, "glob "+prompt+".*") {
				t.Errorf("%s was told %q", prompt, m)
			}
		}
	}
}

// TestProgressIdentical: calls with the same arguments at once are not taken
// for one another: each gets the progress of the child whose answer it gets.
func TestProgressIdentical(t *testing.T) {
	const n = 12
	p := newProgress()
	var mu sync.Mutex
	children := 0
	m := func(ctx context.Context, _ string, answers int) (model.Part, error) {
		mu.Lock()
		defer mu.Unlock()
		if answers == 0 {
			children++
			return model.ToolCall{ID: "1", Name: "glob", Arguments: fmt.Sprintf(`{"pattern":"child-%d.*"}`, children)}, nil
		}
		return nil, errors.New("which child")
	}
	e := newEnv(t, numbered{modelFunc(m)}, 0, nil)
	host := e.connect(t, p.options())
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			token := fmt.Sprintf("tok%d", i)
			res, err := host.CallTool(t.Context(), withToken(call("explore", "the same"), token))
			if err != nil || res.IsError {
				t.Errorf("%s: %v, %v", token, err, res)
				return
			}
			own := numberOf.FindString(text(t, res))
			for _, m := range p.messages(token) {
				if other := numberOf.FindString(m); own == "" || other != "" && other != own {
					t.Errorf("%s has the answer of %q and was told %q", token, own, m)
				}
			}
		})
	}
	calls.Wait()
	if children != n {
		t.Errorf("%d children, want %d", children, n)
	}
}

var numberOf = regexp.MustCompile(`child-\d+`)

// numbered answers with the number of the child that asks.
type numbered struct{ modelFunc }

func (m numbered) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	for _, msg := range req.Messages {
		if len(msg.ToolCalls) > 0 {
			return modelFunc(func(context.Context, string, int) (model.Part, error) {
				return model.TextDelta{Text: numberOf.FindString(msg.ToolCalls[0].Arguments)}, nil
			}).Stream(ctx, req)
		}
	}
	return m.modelFunc.Stream(ctx, req)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/tool"
)

// workspaceName is the workspace of the stores.
const workspaceName = "history"

// Of a session that runs an agent, about so many events are no part of a step, and
// so many are of each.
const (
	eventsAround  = 8
	eventsOfStep  = 7
	fillersAtOnce = 32
)

// fillStore makes a store in the state folder dir: half of its sessions stand for
// callers, and have one child each.
func fillStore(ctx context.Context, dir string, n size) (err error) {
	began := time.Now()
	bus, err := eventbus.Open(ctx, workspaceName, &eventbus.Options{StoreDir: filepath.Join(dir, "nats"), MaxAge: 31 * 24 * time.Hour})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	// A session for a caller has few events: its child has those of two.
	steps := max(1, (2*n.events-2*eventsAround)/eventsOfStep)
	m, err := session.OpenManager(ctx, session.Options{
		Bus:    bus,
		Static: allowAll{},
		Model:  func(string) (model.Model, error) { return scripted(steps), nil },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	tools, err := toolset.New(look{})
	if err != nil {
		return err
	}
	todo := make(chan int)
	var fillers sync.WaitGroup
	var once sync.Once
	var failed error
	filling, cancel := context.WithCancel(ctx)
	defer cancel()
	for range fillersAtOnce {
		fillers.Go(func() {
			for i := range todo {
				if err := fillOne(filling, m, tools, i); err != nil {
					once.Do(func() { failed = err })
					cancel()
				}
			}
		})
	}
	for i := range n.sessions / 2 {
		if filling.Err() != nil {
			break
		}
		todo <- i
	}
	close(todo)
	fillers.Wait()
	if failed != nil || n.sessions == 0 {
		return failed
	}
	newest, err := bus.Newest(ctx)
	fmt.Printf("%d sessions and %d messages of their logs in %.1f s\n", n.sessions, newest, time.Since(began).Seconds())
	return err
}

// fillOne makes a root and its child.
func fillOne(ctx context.Context, m *session.Manager, tools *toolset.Set, i int) error {
	root, err := m.Open(ctx, session.Spec{})
	if err != nil {
		return err
	}
	child, err := m.Open(ctx, session.Spec{
		Parent: root, Agent: "explore", Description: "Where is the retry delay set, and by whom? " + strconv.Itoa(i),
		ToolSet: tools, MaxSteps: 1000,
	})
	if err != nil {
		return errors.Join(err, root.End(record.Failed, err))
	}
	done := child.Prompt(ctx, "Find where the delay between two attempts is set.")
	return errors.Join(done.Err, child.End(done.Status, done.Err), root.End(done.Status, done.Err))
}

// scripted is a model that calls a tool so many times, and then answers.
type scripted int

func (scripted) Name() string { return "scripted" }

func (m scripted) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		said := 0
		for _, msg := range req.Messages {
			if msg.Role == model.Assistant {
				said++
			}
		}
		usage := model.Usage{InputTokens: 1200, OutputTokens: 80}
		answer := []model.Part{model.TextDelta{Text: "It is set in retry.go, by the caller."}, usage, model.Stop{Reason: model.StopEnd}}
		if said < int(m) {
			args := fmt.Sprintf(`{"path":"internal/retry/retry%d.go"}`, said)
			answer = []model.Part{
				model.TextDelta{Text: "I look at the next file, which may have it."},
				model.ToolCall{ID: "call" + strconv.Itoa(said), Name: "look", Arguments: args},
				usage, model.Stop{Reason: model.StopToolCalls},
			}
		}
		for _, p := range answer {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// look is a tool without effects.
type look struct{}

func (look) Spec() tool.Spec {
	return tool.Spec{Name: "look", Description: "looks at a file", InputSchema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}
}

func (look) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call it", call.Args)
}

func (look) Values(args json.RawMessage) ([]permission.Value, error) {
	return []permission.Value{{Tool: "look", Text: string(args)}}, nil
}

func (look) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Result{Text: "const delay = 50 * time.Millisecond // between two attempts"}, nil
}

// allowAll are static rules.
type allowAll struct{}

func (allowAll) Rules() (*permission.Ruleset, error) {
	return permission.NewRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
}

func (allowAll) Allow(string, []string) error { return errors.New("all is allowed") }

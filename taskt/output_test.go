package taskt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

const countFile = `---
description: Counts.
maxSteps: 4
output:
  type: object
  required: [count]
  properties:
    count: {type: integer, minimum: 0}
---
Count.
`

// answers is a model that gives one answer after the other, and notes what it
// is asked.
type answers struct {
	texts  []string
	system string
	asked  []string // the last message of each call
}

func (a *answers) model() modelFunc {
	return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		a.system = req.System
		a.asked = append(a.asked, req.Messages[len(req.Messages)-1].Text)
		return answer(a.texts[min(len(a.asked), len(a.texts))-1])(ctx, req, yield)
	}
}

// TestOutput: the result of an agent with an output schema is a JSON value that
// satisfies it; else the model is told why not, and answers again, twice.
func TestOutput(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []string
		want    string   // the result
		told    []string // a part of each correction
		err     string   // the start of the error
	}{
		{"at once", []string{`{"count":3}`}, `{"count":3}`, nil, ""},
		{"with space", []string{"\n {\"count\": 3}\n\n"}, `{"count": 3}`, nil, ""},
		{"fenced", []string{"Here it is:\n\n```json\n{\"count\": 3}\n```\nThat is all."}, `{"count": 3}`, nil, ""},
		{"the last fence", []string{"```json\n{}\n```\nor rather\n  ```JSON \r\n{\"count\":4}\r\n  ```"}, `{"count":4}`, nil, ""},
		{"a fence in a string", []string{"{\"count\":5,\"text\":\"```json\\n{}\\n```\"}"}, "{\"count\":5,\"text\":\"```json\\n{}\\n```\"}", nil, ""},
		{"corrected", []string{"There are 3.", `{"count":3}`}, `{"count":3}`, []string{"not one JSON value"}, ""},
		{"corrected twice", []string{`{"count":"3"}`, `{"count":-1}`, `{"count":0}`}, `{"count":0}`, []string{`has type "string"`, "minimum"}, ""},
		{"a plain fence", []string{"Here:\n```\n{\"count\": 3}\n```"}, `{"count": 3}`, nil, ""},
		{"a fence of tildes", []string{"~~~json\n{\"count\": 3}\n~~~\n"}, `{"count": 3}`, nil, ""},
		{"a fence of something else", []string{"```go\nx := 1\n```\n```json\n{\"count\": 3}\n```"}, `{"count": 3}`, nil, ""},
		{"a byte order mark", []string{"\uFEFF{\"count\":3}"}, `{"count":3}`, nil, ""},
		{"behind thoughts", []string{"<think>Is it {3}?</think>\n{\"count\":3}"}, `{"count":3}`, nil, ""},
		{"in prose", []string{"There are some: {\"count\":3} or so."}, `{"count":3}`, nil, ""},
		{"in prose with braces", []string{"As {count} [1] says: {\"count\":3}."}, `{"count":3}`, nil, ""},
		{"a fence without its end", []string{"```json\n{\"count\":3}\n"}, `{"count":3}`, nil, ""},
		{"a fence in a line", []string{"```json {\"count\":3} ```"}, `{"count":3}`, nil, ""},
		{"a mark within a fence", []string{"```json\n\uFEFF{\"count\":3}\n```"}, `{"count":3}`, nil, ""},
		{"cut off", []string{"Here: {\"count\":3, \"x\": {\"y\":1}", `{"count":3}`}, `{"count":3}`, []string{"not one JSON value"}, ""},
		{"two in prose", []string{"{\"count\":3} or {\"count\":4}", `{"count":3}`}, `{"count":3}`, []string{"not one JSON value"}, ""},
		{"null", []string{"null", `{"count":3}`}, `{"count":3}`, []string{"null"}, ""},
		{"two values", []string{`{"count":3}{"count":4}`, `{"count":3}`}, `{"count":3}`, []string{"not one JSON value"}, ""},
		{"a key twice", []string{`{"count":3,"count":4}`, `{"count":3}`}, `{"count":3}`, []string{`"count" is given twice`}, ""},
		{"a key twice within", []string{`{"count":3,"x":[{"y":1,"y":1}]}`, `{"count":3}`}, `{"count":3}`, []string{`"y" is given twice`}, ""},
		{"nothing", []string{" ", `{"count":3}`}, `{"count":3}`, []string{"it is empty"}, ""},
		{"never", []string{"one", "two", "three", `{"count":3}`}, "", []string{"JSON", "JSON"}, "the answer is not one JSON value: "},
		{"never fits", []string{`{}`}, "", []string{"count", "count"}, "the answer does not satisfy the output schema: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &answers{texts: tt.answers}
			e := newEnv(t, a.model(), taskt.Limits{}, map[string]string{"counter.md": countFile})
			res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "How many?", AgentType: "counter"})
			if tt.err == "" && (res.Err != nil || res.Text != tt.want || res.XML() != "<task_result agent=\"counter\">\n"+tt.want+"\n</task_result>") {
				t.Errorf("%q: %v\n%s\nwant %s", tt.answers, res.Err, res.XML(), tt.want)
			}
			if tt.err != "" {
				last := "\n\nThe last answer:\n" + tt.answers[min(2, len(tt.answers)-1)]
				if res.Err == nil || res.Status != record.Failed || !strings.HasPrefix(res.Text, tt.err) || !strings.HasSuffix(res.Text, last) ||
					!strings.HasPrefix(res.XML(), "<task_error agent=\"counter\">") {
					t.Errorf("%q: %s\n%s\nwant %s…%s", tt.answers, res.Status, res.XML(), tt.err, last)
				}
			}
			if len(a.asked) != len(tt.told)+1 {
				t.Fatalf("%q: the model was called %d times, want %d", tt.answers, len(a.asked), len(tt.told)+1)
			}
			for i, want := range tt.told {
				if got := a.asked[i+1]; !strings.Contains(got, want) {
					t.Errorf("%q: correction %d: %s, want %s in it", tt.answers, i+1, got, want)
				}
			}
			if want := "satisfies this JSON Schema: {\""; !strings.Contains(a.system, want) || !strings.Contains(a.system, `"minimum":0`) {
				t.Errorf("the system prompt lacks %s:\n%s", want, a.system)
			}
			turns := 0
			for _, d := range e.stream(t, res.Record.Path) {
				if ev, err := event.Decode(d.Raw); err != nil {
					t.Fatal(err)
				} else if turn, ok := ev.(event.TurnComplete); ok {
					turns++
					if turn.Message.Text != tt.want {
						t.Errorf("turn_complete has %q, want %q", turn.Message.Text, tt.want)
					}
				}
			}
			if want := map[bool]int{true: 1, false: 0}[tt.err == ""]; turns != want {
				t.Errorf("%d turns are complete, want %d", turns, want)
			}
		})
	}
}

// TestOutputLimits: corrections count as steps of the run.
func TestOutputLimits(t *testing.T) {
	a := &answers{texts: []string{"no"}}
	e := newEnv(t, a.model(), taskt.Limits{}, map[string]string{"counter.md": strings.Replace(countFile, "maxSteps: 4", "maxSteps: 1", 1)})
	res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "How many?", AgentType: "counter"})
	if res.Err == nil || len(a.asked) != 2 || res.Record.Steps != 2 {
		t.Errorf("%v after %d calls and %d steps, want an error after 2", res.Err, len(a.asked), res.Record.Steps)
	}
}

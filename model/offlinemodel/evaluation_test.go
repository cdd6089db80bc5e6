//go:build evaluation

package offlinemodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/offlinemodel"
	"github.com/agentworker/worker/tool"
)

// TestEvaluation asks the questions of testdata/questions of the repositories
// in the folder that OFFLINE_REPOSITORIES names, and reports how many answers
// are right at once and how many somewhere. testdata/questions/README.md says
// how to run it. OFFLINE_VERBOSE=1 shows the answers that are not right at once.
func TestEvaluation(t *testing.T) {
	root := os.Getenv("OFFLINE_REPOSITORIES")
	if root == "" {
		t.Fatal("OFFLINE_REPOSITORIES is not set: it names the folder of the checkouts")
	}
	sets, err := filepath.Glob("testdata/questions/*.txt")
	if err != nil || len(sets) == 0 {
		t.Fatalf("no sets of questions: %v", err)
	}
	for _, set := range sets {
		t.Run(strings.TrimSuffix(filepath.Base(set), ".txt"), func(t *testing.T) { evaluate(t, root, set) })
	}
}

func evaluate(t *testing.T, root, set string) {
	data, err := os.ReadFile(set)
	if err != nil {
		t.Fatal(err)
	}
	asked, once, anywhere := 0, 0, 0
	var slowest time.Duration
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.SplitN(strings.TrimSpace(line), " | ", 3)
		if len(fields) != 3 {
			t.Fatalf("%s: %q is not repository | question | answer", set, line)
		}
		start := time.Now()
		answer := askRepository(t, filepath.Join(root, fields[0]), fields[1])
		slowest = max(slowest, time.Since(start))
		first, any := judge(answer, fields[2])
		mark := "-"
		asked++
		if any {
			anywhere++
			mark = "~"
		}
		if first {
			once++
			mark = "+"
		}
		lead, _, _ := strings.Cut(answer, "\n")
		t.Logf("%s %s: %s  [%s]", mark, fields[0], fields[1], cutTo(lead, 110))
		if !first && os.Getenv("OFFLINE_VERBOSE") != "" {
			t.Logf("want %s, the answer is\n%s", fields[2], answer)
		}
	}
	t.Logf("%d questions: %d right at once (%d %%), %d anywhere (%d %%), the slowest took %v", asked, once, 100*once/asked, anywhere, 100*anywhere/asked, slowest.Round(time.Millisecond))
	if 100*once < 60*asked || 100*anywhere < 85*asked {
		t.Errorf("%s: want 60 %% right at once and 85 %% anywhere", set)
	}
}

func cutTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

var namedPath = regexp.MustCompile("`+ ?([^`\\s:]+)(:\\d+)?`")

// judge reports whether an answer is right at once and anywhere: a path is
// right at once as the first place that is named, a fact on the first 12 lines.
func judge(answer, want string) (once, anywhere bool) {
	first := ""
	if m := namedPath.FindStringSubmatch(answer); m != nil {
		first = m[1]
	}
	var head []string
	for _, l := range strings.Split(answer, "\n") {
		if strings.TrimSpace(l) != "" && len(head) < 12 {
			head = append(head, l)
		}
	}
	for alternative := range strings.SplitSeq(want, " OR ") {
		if fact, ok := strings.CutPrefix(alternative, "/"); ok {
			fact, caseless := strings.TrimSuffix(fact, "/i"), strings.HasSuffix(fact, "/i")
			fact = strings.TrimSuffix(fact, "/")
			if caseless {
				fact = "(?i)" + fact
			}
			re := regexp.MustCompile(fact)
			once = once || re.MatchString(strings.Join(head, "\n"))
			anywhere = anywhere || re.MatchString(answer)
			continue
		}
		once = once || first == alternative
		anywhere = anywhere || regexp.MustCompile("`"+regexp.QuoteMeta(alternative)+"(:\\d+)?`").MatchString(answer)
	}
	return once, anywhere || once
}

// askRepository runs a conversation with the built-in tools to its end.
func askRepository(t *testing.T, folder, question string) string {
	ws, err := tool.OpenWorkspace(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tools := map[string]tool.Tool{}
	var specs []model.ToolSpec
	for _, x := range tool.Builtin(ws) {
		if s := x.Spec(); s.ReadOnly {
			tools[s.Name] = x
			specs = append(specs, model.ToolSpec{Name: s.Name, Description: s.Description, InputSchema: s.InputSchema})
		}
	}
	messages := []model.Message{{Role: model.User, Text: question}}
	for range 10 {
		answer, _ := collect(t, &model.Request{System: fmt.Sprintf("You work in the folder %s. The tools take paths relative to it.", folder), Messages: messages, Tools: specs})
		if len(answer.ToolCalls) == 0 {
			return strings.TrimSuffix(answer.Text, offlinemodel.Note)
		}
		results := model.Message{Role: model.User, ToolResults: make([]model.ToolResult, len(answer.ToolCalls))}
		done := make(chan struct{})
		for i, c := range answer.ToolCalls {
			go func() {
				defer func() { done <- struct{}{} }()
				start := time.Now()
				args := json.RawMessage(c.Arguments)
				values, err := tools[c.Name].Values(args)
				r := tool.Result{}
				if err == nil {
					r, err = tools[c.Name].Run(context.Background(), &tool.Call{Args: args, Values: values})
				}
				if err != nil {
					r = tool.Errorf("%v", err)
				}
				if os.Getenv("OFFLINE_CALLS") != "" {
					t.Logf("%s %s: %v, %d bytes", c.Name, c.Arguments, time.Since(start).Round(time.Millisecond), len(r.Text))
				}
				results.ToolResults[i] = model.ToolResult{ToolCallID: c.ID, Text: r.Text, IsError: r.IsError}
			}()
		}
		for range answer.ToolCalls {
			<-done
		}
		messages = append(messages, answer, results)
	}
	t.Fatalf("no answer to %q after 10 steps", question)
	return ""
}

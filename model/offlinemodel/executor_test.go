package offlinemodel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gobwas/glob"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/offlinemodel"
)

// workspace runs the tools that the model calls on files in memory.
type workspace struct {
	files  map[string]string
	denied *regexp.Regexp // calls, as "tool path", that are refused; nil means none
	names  []string       // the tools there are; nil means grep, glob, list_dir, read_file
	plain  bool           // the tools take no optional arguments
	agents []string       // of the task tool
	calls  []model.ToolCall
	task   func(agent, prompt string) (text string, isError bool)
}

func open(t testing.TB, archive string) *workspace {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + archive)
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace{files: map[string]string{}}
	for _, f := range a.Files {
		ws.files[f.Name] = string(f.Data)
	}
	return ws
}

func (ws *workspace) specs() []model.ToolSpec {
	properties := map[string]string{
		"grep":      `"pattern":{},"path":{},"include":{},"ignoreCase":{},"context":{},"limit":{}`,
		"glob":      `"pattern":{},"path":{}`,
		"list_dir":  `"path":{}`,
		"read_file": `"path":{},"offset":{},"limit":{}`,
	}
	if ws.plain {
		properties = map[string]string{"grep": `"pattern":{}`, "glob": `"pattern":{}`, "list_dir": ``, "read_file": `"path":{}`}
	}
	enum, _ := json.Marshal(ws.agents)
	properties["task"] = `"description":{},"prompt":{},"agentType":{"enum":` + string(enum) + `}`
	names := ws.names
	if names == nil {
		names = []string{"grep", "glob", "list_dir", "read_file"}
	}
	var out []model.ToolSpec
	for _, n := range names {
		out = append(out, model.ToolSpec{Name: n, InputSchema: json.RawMessage(`{"type":"object","properties":{` + properties[n] + `}}`)})
	}
	return out
}

type callArgs struct {
	Path, Pattern, Description, Prompt, AgentType string
	Offset, Limit                                 int
	IgnoreCase                                    bool
}

func (ws *workspace) run(c model.ToolCall) model.ToolResult {
	ws.calls = append(ws.calls, c)
	fail := func(format string, args ...any) model.ToolResult {
		return model.ToolResult{ToolCallID: c.ID, Text: fmt.Sprintf(format, args...), IsError: true}
	}
	var args callArgs
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		return fail("arguments: %v", err)
	}
	if ws.denied != nil && ws.denied.MatchString(c.Name+" "+args.Path) {
		return fail("%s %s is denied by a rule", c.Name, args.Path)
	}
	text, err := "", error(nil)
	switch c.Name {
	case "grep":
		text, err = ws.grep(args)
	case "glob":
		text, err = ws.glob(args)
	case "list_dir":
		text = ws.list(args.Path)
	case "read_file":
		text, err = ws.read(args)
	case "task":
		body, failed := ws.task(args.AgentType, args.Prompt)
		element := "task_result"
		if failed {
			element = "task_error"
		}
		return model.ToolResult{ToolCallID: c.ID, IsError: failed,
			Text: fmt.Sprintf("<%s agent=%q>\n%s\n</%s>", element, args.AgentType, body, element)}
	default:
		return fail("there is no tool %q", c.Name)
	}
	if err != nil {
		return fail("%s: %v", c.Name, err)
	}
	return model.ToolResult{ToolCallID: c.ID, Text: strings.TrimSuffix(text, "\n")}
}

func (ws *workspace) grep(args callArgs) (string, error) {
	if args.IgnoreCase {
		args.Pattern = "(?i)" + args.Pattern
	}
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	count := 0
	for _, name := range slices.Sorted(maps.Keys(ws.files)) {
		for i, l := range strings.Split(strings.TrimSuffix(ws.files[name], "\n"), "\n") {
			if !re.MatchString(l) {
				continue
			}
			if count++; args.Limit > 0 && count > args.Limit {
				return b.String() + fmt.Sprintf("(the first %d matches; there are more: narrow the pattern, the path or include)", args.Limit), nil
			}
			fmt.Fprintf(&b, "%s:%d: %s\n", name, i+1, l)
		}
	}
	if count == 0 {
		return "(no match)", nil
	}
	return b.String(), nil
}

func (ws *workspace) glob(args callArgs) (string, error) {
	g, err := glob.Compile(args.Pattern, '/')
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ws.files)) {
		if g.Match(name) || g.Match("/"+name) || !strings.Contains(args.Pattern, "/") && g.Match(path.Base(name)) {
			fmt.Fprintln(&b, name)
		}
	}
	if b.Len() == 0 {
		return fmt.Sprintf("(no file matches %q below .)", args.Pattern), nil
	}
	return b.String(), nil
}

func (ws *workspace) list(folder string) string {
	entries := map[string]bool{}
	for name := range ws.files {
		rest := name
		if folder != "" && folder != "." {
			var ok bool
			if rest, ok = strings.CutPrefix(name, folder+"/"); !ok {
				continue
			}
		}
		first, _, isFolder := strings.Cut(rest, "/")
		if isFolder {
			entries[first+"/"] = true
		} else {
			entries[first+"  10 B"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(entries)), "\n")
}

func (ws *workspace) read(args callArgs) (string, error) {
	data, ok := ws.files[args.Path]
	if !ok {
		return "", fmt.Errorf("%s does not exist", args.Path)
	}
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	first := max(args.Offset, 1)
	last := len(lines)
	if args.Limit > 0 {
		last = min(last, first+args.Limit-1)
	}
	var b strings.Builder
	for n := first; n <= last; n++ {
		fmt.Fprintf(&b, "%6d→%s\n", n, lines[n-1])
	}
	if last < len(lines) {
		fmt.Fprintf(&b, "(lines %d to %d of %d; go on with offset=%d)\n", first, last, len(lines), last+1)
	}
	return b.String(), nil
}

// ask runs a conversation to its end and returns the answer.
func (ws *workspace) ask(t testing.TB, prompts ...string) string {
	t.Helper()
	var messages []model.Message
	text := ""
	for _, p := range prompts {
		messages = append(messages, model.Message{Role: model.User, Text: p})
		for step := 0; ; step++ {
			if step > 8 {
				t.Fatalf("asked %q: no answer after %d steps", p, step)
			}
			answer, stop := collect(t, &model.Request{System: "You are an agent.", Messages: messages, Tools: ws.specs()})
			messages = append(messages, answer)
			if len(answer.ToolCalls) == 0 {
				if stop != model.StopEnd || !strings.HasSuffix(answer.Text, offlinemodel.Note) {
					t.Fatalf("asked %q: stop %q, answer without the closing note:\n%s", p, stop, answer.Text)
				}
				text = answer.Text
				break
			}
			if stop != model.StopToolCalls || answer.Text != "" {
				t.Fatalf("asked %q: stop %q, text %q beside %d calls", p, stop, answer.Text, len(answer.ToolCalls))
			}
			results := model.Message{Role: model.User}
			for _, c := range answer.ToolCalls {
				results.ToolResults = append(results.ToolResults, ws.run(c))
			}
			messages = append(messages, results)
		}
	}
	return text
}

// collect ranges over one answer.
func collect(t testing.TB, req *model.Request) (answer model.Message, stop model.StopReason) {
	t.Helper()
	answer.Role = model.Assistant
	for part, err := range offlinemodel.New().Stream(context.Background(), req) {
		if err != nil {
			t.Fatalf("Stream: %v", err)
		}
		if stop != "" {
			t.Fatalf("Stream: %T after Stop", part)
		}
		switch part := part.(type) {
		case model.TextDelta:
			answer.Text += part.Text
		case model.ToolCall:
			answer.ToolCalls = append(answer.ToolCalls, part)
		case model.Stop:
			stop = part.Reason
		}
	}
	if stop == "" {
		t.Fatal("Stream ended without a Stop")
	}
	return answer, stop
}

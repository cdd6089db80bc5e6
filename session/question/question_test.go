package question_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/tool"
)

var (
	long = strings.Repeat("text ", 60_000) + "END"
	bidi = "safe\u202e\u200b\x1b[2Jevil"
)

// calls are what tools are asked to do, and what each door shows of it.
var calls = []struct {
	tool  string
	args  map[string]any
	shows []string // at each door
	whole bool     // at each door
}{
	{"write_file", map[string]any{"path": "new.md", "content": "hello\nworld\n"}, []string{"asks to create new.md", "    hello", "    world"}, true},
	{"write_file", map[string]any{"path": "old.md", "content": "one\n2\n"}, []string{"asks to change old.md", "-two", "+2"}, true},
	{"write_file", map[string]any{"path": "bin", "content": "text"}, []string{"asks to replace bin, a binary", "    text"}, true},
	{"write_file", map[string]any{"path": "old.md", "content": ""}, []string{"asks to empty old.md", "-one", "-two"}, true},
	{"write_file", map[string]any{"path": "new.md", "content": long}, []string{"asks to create new.md", "END"}, false},
	{"write_file", map[string]any{"path": "new.md", "content": bidi}, []string{`safe\u{202e}\u{200b}\u{1b}[2Jevil`}, true},
	{"write_file", map[string]any{"path": "new\u202e.md", "content": "x"}, []string{`new\u{202e}.md`}, true},
	{"edit_file", map[string]any{"path": "old.md", "oldText": "two", "newText": "three"}, []string{"asks to change old.md", "-two", "+three"}, true},
	{"edit_file", map[string]any{"path": "long.md", "oldText": "a line of text", "newText": "another", "replaceAll": true}, []string{"asks to change long.md", "-a line", "+another"}, false},
	{"edit_file", map[string]any{"path": "old.md", "oldText": "absent", "newText": bidi}, []string{"oldText", "absent", `\u{202e}`}, true},
	{"shell_exec", map[string]any{"command": "D=build; rm -rf $D" + bidi}, []string{"asks to run a command", "rm -rf $D", `\u{202e}`}, true},
	{"shell_exec", map[string]any{"command": "bash -eu ./x.sh && sh x.sh"}, []string{"script x.sh", "    echo script"}, true},
	{"shell_exec", map[string]any{"command": strings.Repeat("echo x; ", 20_000) + "rm END"}, []string{"rm END"}, false},
	{"remember", map[string]any{"text": "tests run by make"}, []string{"memory of this workspace", "    tests run by make"}, true},
	{"read_file", map[string]any{"path": "old.md", "offset": 3}, []string{"asks to read old.md", "offset", "3"}, true},
	{"grep", map[string]any{"pattern": "key.*" + bidi, "path": "src"}, []string{"search the files of src", `key.*safe\u{202e}`}, true},
	{"glob", map[string]any{"pattern": "**/*.go"}, []string{"**/*.go"}, true},
	{"list_dir", map[string]any{"path": "src"}, []string{"list the folder src"}, true},
}

// TestDoors: whatever a tool is asked to do, a person sees all of it at each door, or is told
// that there is more and gets no "always".
func TestDoors(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"old.md": "one\ntwo\n", "bin": "\x00\xff\x01", "x.sh": "echo script\n", "long.md": strings.Repeat("a line of text\n", 2000)} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := tool.OpenWorkspace(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tools := map[string]tool.Tool{}
	for _, tl := range append(tool.Builtin(ws), (&memory.Memory{}).Tool()) {
		tools[tl.Spec().Name] = tl
	}
	for _, tt := range calls {
		raw, err := json.Marshal(tt.args)
		if err != nil {
			t.Fatal(err)
		}
		d := tools[tt.tool].Describe(&tool.Call{Args: raw})
		a := &approval.Approval{
			ID: "apr_1", Tool: tt.tool, Reason: "rule x at permissions.jsonc:3 asks", Patterns: []string{"value"}, AlwaysPatterns: []string{"value"},
			Path: event.Path{{SessionID: "r"}, {SessionID: "a", AgentType: "planner"}, {SessionID: "b", AgentType: "writer"}},
		}
		a.Question.Title = d.Title
		for _, p := range d.Parts {
			a.Question.Parts = append(a.Question.Parts, event.QuestionPart{Name: p.Name, Form: string(p.Form), Text: p.Text})
		}
		for _, door := range question.Doors {
			name := fmt.Sprintf("%s %.40s at %s", tt.tool, raw, door.Name)
			v := question.New(a, door)
			text := strings.Join(v.Lines(), "\n")
			for _, want := range append(tt.shows, "planner › writer asks to", "permissions.jsonc:3") {
				if !strings.Contains(text, want) {
					t.Errorf("%s: %q is missing in\n%.2000s", name, want, text)
				}
			}
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && termtext.Hides(r) }) {
				t.Errorf("%s hides something", name)
			}
			if tt.whole && v.LeftOut != "" {
				t.Errorf("%s leaves out: %s", name, v.LeftOut)
			}
			scrolls := door == question.Whole || door == question.Page
			if !tt.whole && !scrolls && v.LeftOut == "" {
				t.Errorf("%s: nothing says that there is more", name)
			}
			if (v.LeftOut == "") != (len(v.Always) > 0) {
				t.Errorf("%s: left out %q, always %q", name, v.LeftOut, v.Always)
			}
		}
	}
}

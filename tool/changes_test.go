package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/tool"
)

// TestWritersBesideEachOther: no session overwrites the change of another one.
func TestWritersBesideEachOther(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a.txt": "one\n", "link.txt": "-> a.txt"})
	began := time.Now()
	call := func(session, name string, in args) (string, bool) {
		t.Helper()
		return p.callIn(session, began, name, in)
	}
	read, write := args{"path": "a.txt"}, args{"path": "link.txt", "content": "x"}
	edit := func(from, to string) args { return args{"path": "a.txt", "oldText": from, "newText": to} }
	for i, step := range []struct {
		session, tool string
		in            args
		fails         string
	}{
		{"A", "read_file", read, ""},
		{"B", "edit_file", edit("one", "two"), ""}, // nobody has changed it
		{"B", "write_file", write, ""},             // it has seen its own change
		{"A", "edit_file", edit("x", "y"), "a.txt was changed by session B (agent B) at "},
		{"A", "write_file", write, "after you had read it: read it now"},
		{"C", "write_file", write, "while you worked, and you have not read it"},
		{"A", "read_file", args{"path": "link.txt", "limit": 1}, ""},
		{"A", "edit_file", edit("x", "y"), ""},
		{"B", "edit_file", edit("y", "z"), "a.txt was changed by session A"},
		{"B", "read_file", read, ""},
		{"B", "edit_file", edit("y", "z"), ""},
	} {
		if got, failed := call(step.session, step.tool, step.in); failed != (step.fails != "") || !strings.Contains(got, step.fails) {
			t.Errorf("step %d: %s of %s: %q, want %q", i+1, step.tool, step.session, got, step.fails)
		}
	}
	began = time.Now().Add(time.Second) // of a session that began afterwards
	if got, failed := call("D", "write_file", write); failed {
		t.Errorf("a later session: %s", got)
	}
}

// TestChangedByOthers: a change by anybody else is noticed when the whole content would be
// replaced.
func TestChangedByOthers(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a.txt": "one\n"})
	began := time.Now()
	call := func(session, name string, in args) (string, bool) {
		t.Helper()
		return p.callIn(session, began, name, in)
	}
	read, write := args{"path": "a.txt"}, args{"path": "a.txt", "content": "x"}
	edit := func(from, to string) args { return args{"path": "a.txt", "oldText": from, "newText": to} }
	for name, text := range map[string]string{"an editor": "saved\n", "a command": ""} {
		p.put("a.txt", "seed\n")
		if got, failed := call("E", "read_file", read); failed {
			t.Fatal(got)
		}
		p.put("a.txt", "seed\n"+text+"more\n")
		if got, failed := call("E", "write_file", write); !failed || !strings.Contains(got, "a.txt was changed after you had read it, by a command, a person or another program: read it now") {
			t.Errorf("%s: %s", name, got)
		}
		if got, failed := call("E", "edit_file", edit("seed", "root")); failed { // it keeps what else is there
			t.Errorf("%s: %s", name, got)
		}
		if got, failed := call("E", "write_file", write); !failed { // it has not seen that
			t.Errorf("%s: %s", name, got)
		}
		if got, failed := call("E", "read_file", read); failed {
			t.Fatal(got)
		}
		if got, failed := call("E", "edit_file", edit("root", "branch")); failed {
			t.Errorf("%s: %s", name, got)
		}
		if got, failed := call("E", "write_file", write); failed { // it is what the session itself has made of it
			t.Errorf("%s: %s", name, got)
		}
		p.put("a.txt", "x") // the same content again
		if got, failed := call("E", "write_file", write); failed {
			t.Errorf("%s: %s", name, got)
		}
		if err := os.Remove(filepath.Join(p.dir, "a.txt")); err != nil { // nothing is lost
			t.Fatal(err)
		}
		if got, failed := call("E", "write_file", args{"path": "a.txt", "content": "x"}); failed {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// callIn makes a call of a session that began then. It returns what the model reads, and
// whether the call has failed.
func (p *place) callIn(session string, began time.Time, name string, in args) (string, bool) {
	p.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		p.t.Fatal(err)
	}
	values, err := p.tools[name].Values(raw)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := p.tools[name].Run(p.t.Context(), &tool.Call{SessionID: session, Agent: "agent " + session, Began: began, Args: raw, Values: values})
	if err != nil {
		return err.Error(), true
	}
	return res.Text, res.IsError
}

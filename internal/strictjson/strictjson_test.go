package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/strictjson"
)

type commonArgs struct {
	Why string `json:"why,omitempty"`
}

type sampleArgs struct {
	commonArgs
	Command string            `json:"command"`
	Plain   int               // without a tag
	Hidden  string            `json:"-"`
	Steps   []stepArgs        `json:"steps,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Any     any               `json:"any,omitempty"`
	Step    *stepArgs         `json:"step,omitempty"`
}

type stepArgs struct {
	Name string `json:"name"`
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ args, want string }{ // want: a part of the error, "": none
		{`{}`, ""},
		{` {"command":"ls","Plain":2,"why":"x"} ` + "\n", ""},
		{`{"command":null,"steps":null,"step":null,"any":null}`, ""},
		{`{"\u0063ommand":"ls"}`, ""},
		{`{"env":{"A":"1","a":"2"},"raw":{"X":1,"x":2},"any":[{"Name":1,"NAME":2}]}`, ""},
		{`{"steps":[{"name":"a"},{"name":"b"}],"step":{"name":"c"}}`, ""},

		{`{"COMMAND":"ls"}`, `unknown key "COMMAND": spell it "command"`},
		{`{"command":"make test","COMMAND":"touch x"}`, `unknown key "COMMAND"`},
		{`{"command":"make test","command":"touch x"}`, `key "command" is given twice`},
		{`{"command":"make test","comm\u0061nd":"touch x"}`, `key "command" is given twice`},
		{`{"\u017Fteps":[]}`, `unknown key "ſteps": spell it "steps"`},
		{`{"plain":1}`, `spell it "Plain"`},
		{`{"Hidden":"x"}`, `unknown key "Hidden": there are Plain, any, command, env, raw, step, steps, why`},
		{`{"-":"x"}`, `unknown key "-"`},
		{`{"commonArgs":{"why":"x"}}`, `unknown key "commonArgs"`},
		{`{"":1}`, `unknown key ""`},
		{`{"steps":[{"name":"a"},{"Name":"b"}]}`, `unknown key "Name"`},
		{`{"step":{"name":"a","name":"b"}}`, `key "name" is given twice`},
		{`{"env":{"A":"1","A":"2"}}`, `key "A" is given twice`},
		{`{"raw":{"x":[{"y":1,"y":2}]}}`, `key "y" is given twice`},
		{`{"any":{"x":1,"x":2}}`, `key "x" is given twice`},

		{`{"` + strings.Repeat("x", 20_000) + `":1}`, `unknown key "xxxxxxxxxxxxxxxxxxxx"…, of 20000 bytes: there are `},

		{``, "unexpected end"},
		{`null`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`"{}"`, "not a JSON object"},
		{`{} {}`, "after top-level value"},
		{`{}x`, "after top-level value"},
		{`{"command":"a",}`, "invalid character"},
		{`{"command":1}`, "cannot unmarshal number"},
		{`{"any":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "exceeded max depth"},
	} {
		var got sampleArgs
		err := strictjson.Decode(json.RawMessage(c.args), &got)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Decode(%.100s): %v, want %q", c.args, err, c.want)
		}
	}
	var got sampleArgs
	if err := strictjson.Decode(json.RawMessage(`{"command":"ls","steps":[{"name":"a"}],"why":"x"}`), &got); err != nil || got.Command != "ls" || got.Why != "x" || len(got.Steps) != 1 || got.Steps[0].Name != "a" {
		t.Errorf("Decode: %+v (%v)", got, err)
	}
	for _, into := range []any{nil, sampleArgs{}, new(int), map[string]any{}} {
		if err := strictjson.Decode(json.RawMessage(`{}`), into); err == nil {
			t.Errorf("Decode into %T: no error", into)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"command":"ls","steps":[{"name":"a"}]}`)
	f.Add(`{"command":"a","Command":"b"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var got sampleArgs
		if strictjson.Decode(json.RawMessage(raw), &got) != nil {
			return
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &all); err != nil {
			t.Fatalf("Decode took %q: %v", raw, err)
		}
		var command string
		if err := json.Unmarshal(append(all["command"], ' '), &command); len(all["command"]) > 0 && (err != nil || command != got.Command) {
			t.Errorf("Decode(%q): command %q, want %q (%v)", raw, got.Command, command, err)
		}
		if len(all["command"]) == 0 && got.Command != "" {
			t.Errorf("Decode(%q): command %q from no such key", raw, got.Command)
		}
	})
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{ // a part of the error; empty means none
		`{"a":1,"b":[{"a":1},{"a":2}]}`: "",
		` "text" `:                      "",
		`null`:                          "",
		``:                              "unexpected end",
		`{"a":1} x`:                     "invalid character",
		`{"a":1}{"a":1}`:                "invalid character",
		`{"a":1,"a":1}`:                 `key "a" is given twice`,
		`[{"x":{"b":1,"\u0062":2}}]`:    `key "b" is given twice`,
		strings.Repeat("[", 20_000):     "depth",
	} {
		err := strictjson.Check([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%.60s) = %v, want %q in it", text, err, want)
		}
	}
}

package definition_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

func TestFields(t *testing.T) {
	known := func(name string) bool { return name != "gpt-99" }
	s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": `---
name: Ä b
description: Does it.
model: [gpt-99, sonnet]
temperature: 0.5
top_p: 0.9
maxOutputTokens: 4000
maxTurns: "7"
timeoutSeconds: 90
effort: high
background: yes
hidden: true
aliases: x, y
color: red
output: {type: object, required: [a]}
skills: [s, T u, S]
vibe: calm
---
Work.
`}, &agentdefs.Options{KnownModel: known})
	d, ok := s.Agent("Ä b")
	if !ok {
		t.Fatal(s.Diagnostics())
	}
	if d.Model != "sonnet" || *d.Temperature != 0.5 || *d.TopP != 0.9 || d.MaxOutputTokens != 4000 || d.MaxSteps != 7 ||
		d.Timeout != 90*time.Second || d.Effort != "high" || !d.Background || !d.Hidden || !slices.Equal(d.Aliases, []string{"x", "y"}) ||
		d.Color != "red" || string(d.Output) != `{"type":"object","required":["a"]}` || d.Line != 2 {
		t.Errorf("%+v", d)
	}
	var vibe string
	if len(d.Fields) != 1 || d.Fields[0].Name != "vibe" || d.Fields[0].Line != 17 || d.Fields[0].Decode(&vibe) != nil || vibe != "calm" || !slices.Equal(d.Skills, []string{"s", "t-u"}) {
		t.Errorf("kept fields %+v, vibe %q, skills %v", d.Fields, vibe, d.Skills)
	}
}

func TestFieldValues(t *testing.T) {
	for _, tt := range []struct {
		field string
		steps int
		code  string // empty means none
	}{
		{"", 10, ""},
		{"maxSteps: 1000", 1000, ""},
		{"max_turns: 3", 3, ""},
		{"steps: 3", 3, ""},
		{"max-steps: 3", 3, "field-misspelled"},
		{"maxSteps: 0", 10, "field-range"},
		{"maxSteps: -3", 10, "field-range"},
		{"maxSteps: 1001", 1000, "field-range"},
		{"maxSteps: 99999999999999999999", 1000, "field-range"},
		{"maxSteps: many", 10, "field-type"},
		{"maxSteps: 1.5", 10, "field-type"},
		{"maxSteps:", 10, "field-type"},
		{"maxSteps: [1]", 10, "field-type"},
		{"maxSteps: \"3", 10, "field-unparsed"},
		{"mode: sideways", 10, "field-type"},
		{"timeoutSeconds: 5\ntimeout_mins: 0", 10, "field-duplicate"},
		{"temperature: 3", 10, "field-range"},
		{"temperature: .nan", 10, "field-type"},
		{"temperature: NaN", 10, "field-type"},
		{"temperature: .inf", 10, "field-type"},
		{"temperature: Infinity", 10, "field-range"},
		{"temperature: -0.5", 10, "field-range"},
		{"temperature: 1e999", 10, "field-type"},
		{"top_p: .NaN", 10, "field-type"},
		{"hidden: perhaps", 10, "field-type"},
		{"model: inherit", 10, ""},
		{"model: gpt-99", 10, "model-unknown"},
		{"aliases: {a: b}", 10, "field-type"},
	} {
		opts := &agentdefs.Options{KnownModel: func(name string) bool { return name != "gpt-99" }}
		s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": "---\ndescription: x\n" + tt.field + "\n---\nx"}, opts)
		d, ok := s.Agent("a")
		if !ok || d.MaxSteps != tt.steps || d.Model != "" && !strings.HasSuffix(tt.field, d.Model) {
			t.Errorf("%q: served %v, %+v, want %d steps and no other model", tt.field, ok, d, tt.steps)
		}
		if codes := agentdefstest.Codes(s); (tt.code == "") != (len(codes) == 0) || tt.code != "" && !slices.Contains(codes, tt.code) {
			t.Errorf("%q: diagnostics %v, want %q", tt.field, s.Diagnostics(), tt.code)
		}
	}
}

func TestCallers(t *testing.T) {
	for _, tt := range []struct {
		caller string
		want   []string // nil means refused
	}{
		{"host", []string{"host"}},
		{"Planner, HOST ,planner", []string{"planner", "host"}},
		{"[planner, 'Ä b', 7]", []string{"planner", "ä b", "7"}},
		{"\n- planner\n- host", []string{"planner", "host"}},
		{"", nil},
		{"~", nil},
		{"[]", nil},
		{"[a, ~]", nil},
		{"[a, [b]]", nil},
		{"{a: b}", nil},
		{"','", nil},
		{"a,,b", nil},
		{"'*'", nil},
		{"\"a\\nb\"", nil},
		{"!!binary YQ==", nil},
		{"&x a\nz: *x", []string{"a"}},
		{"*x\nz: &x a", nil},
		{"a\ncaller: b", nil},
		{"a\ncaller: agent", []string{"a"}},
		{"\"a", nil},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\ncallers: " + tt.caller + "\n---\nx"}, nil)
		d, ok := s.Agent("a")
		if tt.want == nil {
			if ok || !slices.Contains(agentdefstest.Codes(s), "permission-invalid") {
				t.Errorf("%q: served %v, %v; want it refused", tt.caller, ok, s.Diagnostics())
			}
			continue
		}
		if !ok || !slices.Equal(d.Callers, tt.want) {
			t.Errorf("%q: %+v, %v, want %q", tt.caller, d, s.Diagnostics(), tt.want)
		}
	}
	s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": agentdefstest.Plain}, nil)
	for _, d := range s.Agents() {
		if d.Callers != nil || d.Inspectable {
			t.Errorf("%s: callers %v, inspectable %v; want any, and false", d.Name, d.Callers, d.Inspectable)
		}
	}
}

// TestCaller: caller: agent is about what the agent is told (G8). Its older meaning,
// the list of callers, still holds, and the diagnostic tells the new name.
func TestCaller(t *testing.T) {
	for _, tt := range []struct {
		field   string
		told    bool
		callers []string
		code    string // of the diagnostic; empty if there must be no diagnostic
	}{
		{"caller: agent", true, nil, ""},
		{"caller: ' Agent'", true, nil, ""},
		{"caller: agent\ncallers: [lead]", true, []string{"lead"}, ""},
		{"caller: [lead, host]", false, []string{"lead", "host"}, "field-deprecated"},
		{"caller: [agent]", false, []string{"agent"}, "field-deprecated"},
		{"caller: user", false, []string{"user"}, "field-deprecated"},
		{"callr: lead", false, []string{"lead"}, "field-deprecated"},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + tt.field + "\n---\nx"}, nil)
		d, ok := s.Agent("a")
		if codes := agentdefstest.Codes(s); !ok || d.CalledByAgent != tt.told || !slices.Equal(d.Callers, tt.callers) || (tt.code == "") != (len(codes) == 0) || tt.code != "" && !slices.Contains(codes, tt.code) {
			t.Errorf("%q: %+v, %v, want %v, %q and %q", tt.field, d, s.Diagnostics(), tt.told, tt.callers, tt.code)
		}
		if tt.code != "" && !strings.Contains(s.Diagnostics()[len(s.Diagnostics())-1].Fix, "callers:") {
			t.Errorf("%q: %v, want the new name", tt.field, s.Diagnostics())
		}
	}
	for _, field := range []string{"caller:", "caller: []", "caller: '*'", "caller: {a: b}", "caller: a\ncallers: b", "callers: b\ncaller: [a]"} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + field + "\n---\nx"}, nil)
		if _, ok := s.Agent("a"); ok || !slices.Contains(agentdefstest.Codes(s), "permission-invalid") {
			t.Errorf("%q: %v, want it refused", field, s.Diagnostics())
		}
	}
}

// TestAllowAgents: allowAgents says whom an agent may call (O5).
func TestAllowAgents(t *testing.T) {
	for _, tt := range []struct {
		field string
		want  []string // nil means all
		ok    bool
	}{
		{"allowAgents: [Explore, general]", []string{"explore", "general"}, true},
		{"allowAgents: explore, general", []string{"explore", "general"}, true},
		{"allowAgents: []", []string{}, true},
		{"color: red", nil, true},
		{"agents: [Explore]", []string{"explore"}, true}, // Copilot's
		{"agents: []", []string{}, true},
		{"agents: ['*', a]", nil, true},
		{"agents: [a, b]\nallowAgents: [b, c]", []string{"b"}, true},
		{"allowAgents: [b, c]\nagents: [a, b]", []string{"b"}, true},
		{"allowAgents: [b]\nagents: ['*']", []string{"b"}, true},
		{"allowAgents:", nil, false},
		{"allowAgents: ['*']", nil, false},
		{"allowAgents: {a: b}", nil, false},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + tt.field + "\n---\nx"}, nil)
		d, ok := s.Agent("a")
		if ok != tt.ok || ok && (!slices.Equal(d.AllowAgents, tt.want) || (d.AllowAgents == nil) != (tt.want == nil)) {
			t.Errorf("%q: %+v, %v, want %q", tt.field, d, s.Diagnostics(), tt.want)
		}
	}
}

func TestInspectable(t *testing.T) {
	for _, tt := range []struct {
		field string
		want  bool
		code  string // empty means none
	}{
		{"inspectable: true", true, ""},
		{"inspectable: no", false, ""},
		{"inspectable: perhaps", false, "field-type"},
		{"inspectable:", false, "field-type"},
		{"inspectable: *x", false, "yaml-invalid"},
		{"inspectible: false", false, "field-misspelled"},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + tt.field + "\n---\nx"}, nil)
		d, ok := s.Agent("a")
		if codes := agentdefstest.Codes(s); !ok || d.Inspectable != tt.want || (tt.code == "") != (len(codes) == 0) || tt.code != "" && !slices.Contains(codes, tt.code) {
			t.Errorf("%q: %+v, %v, want %v and %q", tt.field, d, s.Diagnostics(), tt.want, tt.code)
		}
	}
}

func TestAliases(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\naliases: [b, B, \"c\\td\", " + strings.Repeat("e", 201) + ", f]\n---\nx"}, nil)
	d, ok := s.Agent("a")
	if codes := agentdefstest.Codes(s); !ok || !slices.Equal(d.Aliases, []string{"b", "f"}) || !slices.Equal(codes, []string{"field-type", "field-type"}) {
		t.Errorf("%+v, %v; want the aliases b and f, and field-type twice", d, s.Diagnostics())
	}
}

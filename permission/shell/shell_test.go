package shell

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/internal/samples"
)

func TestShellPatterns(t *testing.T) {
	type vector struct {
		Command          string
		Patterns, Always []string
	}
	w := permission.Workspace{Root: t.TempDir(), Home: "/home/u"}
	for _, v := range samples.Read[vector](t, "../../testdata/permission/shell_sample.jsonl") {
		values, err := Values(w, "shell_exec", v.Command)
		if err != nil {
			t.Errorf("%q: %v", v.Command, err)
			continue
		}
		var patterns []string
		for _, value := range values {
			if value.Tool == "shell_exec" && !value.OnlyDenies() && value.Written != "" {
				patterns = append(patterns, value.Written)
			}
		}
		if !slices.Equal(patterns, v.Patterns) {
			t.Errorf("%q: patterns %q, want %q", v.Command, patterns, v.Patterns)
		}
		if always := AlwaysPatterns("shell_exec", values); !slices.Equal(always, v.Always) {
			t.Errorf("%q: always %q, want %q", v.Command, always, v.Always)
		}
	}
}

// gateVector is a call and what its decision must or must not be.
type gateVector struct {
	Rules   json.RawMessage
	Tool    string
	Args    map[string]string
	Setup   string
	Why     string
	MustNot permission.Action `json:"must_not_be"`
	MustBe  permission.Action `json:"must_be"`
}

// decide sets a workspace up and decides the call in it.
func (v gateVector) decide(t *testing.T, held bool) permission.Decision {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	root = filepath.Join(root, "ws")
	for _, dir := range []string{home, root} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if v.Setup != "" {
		cmd := exec.Command("sh", "-c", v.Setup)
		if strings.Contains(v.Setup, "git remote") {
			cmd = exec.Command("sh", "-c", "git init -q . && "+v.Setup)
		}
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("setup %q: %v\n%s", v.Setup, err, out)
		}
	}
	w := permission.Workspace{Root: root, Home: home}
	r, err := permission.ParseJSON(v.Rules, "rules", &permission.ParseOptions{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	var values []permission.Value
	switch v.Tool {
	case "shell_exec":
		values, err = Values(w, v.Tool, v.Args["command"])
	case "glob", "grep":
		path := v.Args["path"]
		if path == "" {
			path = "."
		}
		values, err = w.PathValues(v.Tool, path)
	default:
		values, err = w.PathValues(v.Tool, v.Args["path"])
	}
	if err != nil {
		return permission.Decision{Action: permission.Deny}
	}
	l := &permission.Layers{Agents: []*permission.Ruleset{r}, Held: held}
	d := l.Decide(values)
	if policy := v.underPolicy(r, held).Decide(values); policy.Action < d.Action {
		t.Errorf("%v as the rules of a policy, %v as an agent's: %s", policy.Action, d.Action, v.Args)
	}
	return d
}

// underPolicy has the rules as those of a policy, and everything else allowed.
func (v gateVector) underPolicy(r *permission.Ruleset, held bool) *permission.Layers {
	list := []permission.Rule{{Tool: "*", Pattern: "*", Action: permission.Ask}} // what no rule matches
	for rule := range r.Rules() {
		list = append(list, rule)
	}
	everything := permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow}, permission.Rule{Tool: "*", Pattern: "/**", Action: permission.Allow})
	return &permission.Layers{
		Policies: []*permission.Ruleset{permission.MustRuleset(list...)},
		Agents:   []*permission.Ruleset{everything}, Static: everything, Runtime: everything, Held: held,
	}
}

func TestNoWayRound(t *testing.T) {
	for _, v := range samples.Read[gateVector](t, "../../testdata/permission/bypass_sample.jsonl") {
		if d := v.decide(t, false); d.Action == v.MustNot {
			t.Errorf("%v by %s: %q\n%s", d.Action, v.Rules, v.Args, v.Why)
		}
	}
}

func TestHarmlessStaysAllowed(t *testing.T) {
	for _, v := range samples.Read[gateVector](t, "../../testdata/permission/harmless_sample.jsonl") {
		if d := v.decide(t, true); d.Action != v.MustBe {
			t.Errorf("%v, want %v: %q\n%s: %s", d.Action, v.MustBe, v.Args, v.Why, d.Reason())
		}
	}
}

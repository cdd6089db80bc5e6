package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestRuleList: permissions as opencode 2 has them are rules in their order. One that can't be read
// refuses the agent.
func TestRuleList(t *testing.T) {
	for rules, want := range map[string]string{
		``: "",
		`{action: "*", resource: "*", effect: ask}, {action: read, resource: "*.env", effect: deny}`:          "* ask; read_file(*.env) deny",
		`{action: shell, resource: "*", effect: deny}, {action: shell, resource: "git log *", effect: allow}`: "shell_exec deny; shell_exec(git log *) allow; shell_exec(git log) allow",
		`{action: edit, resource: "*", effect: deny}, {action: edit, resource: "docs/*", effect: allow}`:      "write_file deny; edit_file deny; write_file(docs/*) allow; edit_file(docs/*) allow",
		`{action: edit, resource: "*", effect: deny}, {action: write, resource: "*", effect: allow}`:          "write_file deny; edit_file deny",
		`{action: write, resource: "*", effect: allow}, {action: edit, resource: "*", effect: deny}`:          "write_file deny; edit_file deny",
		`{action: subagent, resource: "*", effect: allow}, {action: subagent, resource: "x", effect: deny}`:   "task allow; task(x) deny",
		`{effect: deny, action: webfetch, resource: "*"}`:                                                     "web_fetch deny",
		`{action: external_directory, resource: "*", effect: deny}`:                                           `read_file(\/**) deny; write_file(\/**) deny; edit_file(\/**) deny`,
		`{action: shell, resource: "*"}`:                         refused,
		`{action: shell, resource: "*", effect: alow}`:           refused,
		`{action: shell, resource: "*", effect: deny, agent: x}`: refused,
		`{action: shell, resource: ["a", "b"], effect: deny}`:    refused,
		`{action: shell, resource: "a", effect: deny}, shell`:    refused,
		`{action: shell, action: edit, effect: deny}`:            refused,
		`{permission: bash, pattern: "*", action: deny}`:         refused,
	} {
		s := agentdefstest.Load(t, map[string]string{".opencode/agents/a.md": "---\ndescription: Does it.\npermissions: [" + rules + "]\n---\nWork.\n"}, &agentdefs.Options{From: []string{"opencode"}, Home: "/home/u"})
		got := refused
		if d, ok := s.Agent("a"); ok {
			got = strings.TrimSuffix(strings.TrimSuffix(agentdefstest.Rules(d), "task deny"), "; ")
		}
		if got != want {
			t.Errorf("%s: rules %q, want %q; %v", rules, got, want, s.Diagnostics())
		}
		if codes := relevant(s); want != refused && slices.Contains(codes, "field-misspelled") {
			t.Errorf("%s: %v", rules, s.Diagnostics())
		}
	}
}

package sandbox_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSeatbeltProfile(t *testing.T) {
	set, err := permission.ParseJSON([]byte(`{"read_file": {"*": "allow", "*.env": "deny", "secrets/**": "deny", "**/id_rsa": "deny"},
		"write_file": {"*": "allow", ".github/**": "deny"}, "edit_file": {"*": "allow"}}`), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	in := sandbox.Input{
		Layers:    &permission.Layers{Agents: []*permission.Ruleset{set}},
		Workspace: permission.Workspace{Root: "/Users/ann/my \"repo\"", Home: "/Users/ann"},
		Folders:   []sandbox.Folder{{Path: "/Users/ann/go/pkg", Access: sandbox.Copy}},
		Protected: []string{".agents/agents"}, Hidden: []string{"/Users/ann/.local/state/agentworker"},
	}
	got, err := sandbox.NewProfile(in).SeatbeltProfile("/private/tmp/s1", "127.0.0.1:4000")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/seatbelt.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
	in.Layers.Static, err = permission.ParseJSON([]byte(`{"read_file": {"[ab].txt": "deny"}}`), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.NewProfile(in).SeatbeltProfile("/tmp", ""); err == nil || !strings.Contains(err.Error(), "[ab].txt") {
		t.Errorf("%v, want an error about the pattern", err)
	}
}

// TestSeatbeltKinds holds that what commands must not do on Linux stands in the profile for
// macOS too, as far as its language can say it.
func TestSeatbeltKinds(t *testing.T) {
	for name, row := range map[string]struct {
		rules      string
		want, miss []string
	}{
		"a file that rules deny":      {`"read_file": {"*": "allow", "*.env": "deny"}`, []string{`(deny file-read* (regex #"^/w/.*\.env$"))`}, nil},
		"a name that is not UTF-8":    {`"read_file": {"*": "allow", "a*": "deny"}`, []string{`(deny file-read* (regex #"^/w/a.*$"))`}, nil},
		"a folder outside":            {`"read_file": {"*": "allow", "/opt/x/**": "deny"}`, []string{`(deny file-read* (regex #"^/opt/x(/.*)?$"))`}, nil},
		"no right to write":           {`"read_file": "allow"`, []string{`(deny file-write* (subpath "/w"))`}, []string{`(allow file-write* (subpath "/w"))`}},
		"an agent file":               {`"*": "allow"`, []string{`(deny file-write* (subpath "/w/.agents/agents"))`}, nil},
		"a .git file":                 {`"*": "allow"`, []string{`(deny file-write* (regex #"^/w/(.*/)?[.]git$"))`}, nil},
		"hooks and settings of git":   {`"*": "allow"`, []string{`(config|config[.]worktree|commondir|gitdir|hooks)`}, nil},
		"the worker's state":          {`"*": "allow"`, []string{`(deny file-read* file-write* (subpath "/state"))`}, nil},
		"setuid":                      {`"*": "allow"`, []string{"(deny file-write-setugid)"}, nil},
		"other ports of this machine": {`"*": "allow", "network": {"*": "allow"}`, []string{`(allow network-outbound (remote ip "localhost:4000"))`}, []string{`(remote ip "localhost:*")`, `(remote ip "*`, "(allow network*"}},
		"sockets of others":           {`"*": "allow", "network": {"*": "allow", "unix:/run/b": "deny"}`, []string{`(remote unix-socket (subpath "/tmp/s"))`}, []string{"/run/"}},
		"a socket that a rule names":  {`"*": "allow", "network": {"unix:/run/a": "allow"}`, []string{`(allow network-outbound (remote unix-socket (literal "/run/a")))`}, nil},
		"what an agent denies":        {`"*": "allow", "write_file": {"*": "allow", "Makefile": "deny"}`, []string{`(deny file-write* (regex #"^/w/Makefile$"))`}, nil},
	} {
		profile := sandbox.NewProfile(sandbox.Input{
			Layers:    &permission.Layers{Agents: []*permission.Ruleset{rulesOf(t, "{"+row.rules+"}")}},
			Workspace: permission.Workspace{Root: "/w", Home: "/h"}, Folders: []sandbox.Folder{},
			Protected: []string{".agents/agents"}, Hidden: []string{"/state"},
		})
		got, err := profile.SeatbeltProfile("/tmp/s", "127.0.0.1:4000")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s is missing in\n%s", name, want, got)
			}
		}
		for _, miss := range row.miss {
			if strings.Contains(got, miss) {
				t.Errorf("%s: there is %s in\n%s", name, miss, got)
			}
		}
	}
}

func rulesOf(t *testing.T, text string) *permission.Ruleset {
	t.Helper()
	set, err := permission.ParseJSON([]byte(text), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

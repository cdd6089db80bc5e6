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

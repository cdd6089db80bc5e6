//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// judgeAndRun takes a call through rules and runs it, as the gate does.
func (p *place) judgeAndRun(rules *permission.Layers, name string, a args) (string, bool) {
	p.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	values, err := p.tools[name].Values(raw)
	if err != nil || rules.Decide(values).Action != permission.Allow {
		return "", false
	}
	readable := func(path string) bool {
		values, err := permission.Workspace{Root: p.dir}.PathValues("read_file", path)
		return err == nil && rules.Decide(values).Action != permission.Deny
	}
	r, err := p.tools[name].Run(p.t.Context(), &tool.Call{SessionID: "ses", Args: raw, Values: values, Rules: rules, Readable: readable})
	if err != nil {
		return err.Error(), false
	}
	return r.Text, !r.IsError
}

// TestSwappedLinks makes calls on a link, and through a linked folder, while both keep
// changing between an allowed and a denied target.
func TestSwappedLinks(t *testing.T) {
	rules := layersOf(t, `{"*": "allow", "read_file": {"*": "allow", "secret/**": "deny"}, "write_file": {"*": "allow", "secret/**": "deny"}, "edit_file": {"*": "allow", "secret/**": "deny"}}`)
	p := newPlace(t, nil, map[string]string{"open/a": "open\n", "secret/a": "S3CRET\n", "link": "-> open/a", "folder": "-> open"})
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swap := func(name string, targets ...string) {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			next := filepath.Join(p.dir, name+".next")
			_ = os.Remove(next)
			if err := os.Symlink(targets[i%2], next); err == nil {
				_ = os.Rename(next, filepath.Join(p.dir, name))
			}
		}
	}
	swapping.Go(func() { swap("link", "open/a", "secret/a") })
	swapping.Go(func() { swap("folder", "open", "secret") })
	ran := 0
	for i := range 600 {
		path := []string{"link", "folder/a"}[i%2]
		for name, a := range map[string]args{
			"read_file":  {"path": path},
			"grep":       {"pattern": "S3C", "path": path},
			"write_file": {"path": path, "content": "written\n"},
			"edit_file":  {"path": path, "oldText": "S3CRET", "newText": "edited"},
		} {
			text, ok := p.judgeAndRun(rules, name, a)
			if ok {
				ran++
			}
			if strings.Contains(text, "S3CRET") {
				t.Fatalf("%s of %s shows what is denied: %s", name, path, text)
			}
		}
	}
	close(stop)
	swapping.Wait()
	if got := p.read("secret/a"); got != "S3CRET\n" {
		t.Errorf("secret/a is now %q", got)
	}
	if ran == 0 {
		t.Error("no call was allowed")
	}
}

// TestHardLinks: another name of a file that is denied is denied.
func TestHardLinks(t *testing.T) {
	rules := layersOf(t, `{"*": "allow", "read_file": {"*": "allow", "secret/**": "deny"}}`)
	p := newPlace(t, nil, map[string]string{"secret/a": "S3CRET\n", "open/a": "open\n"})
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	for from, to := range map[string]string{"secret/a": "b", "open/a": "c"} {
		if err := os.Link(filepath.Join(p.dir, from), filepath.Join(p.dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	if text, ok := p.judgeAndRun(rules, "read_file", args{"path": "b"}); ok || !strings.Contains(text, "another name") {
		t.Errorf("a link to a denied file: %q", text)
	}
	if text, ok := p.judgeAndRun(rules, "grep", args{"pattern": "S3C", "path": "."}); !ok || strings.Contains(text, "S3CRET") {
		t.Errorf("grep over a link to a denied file: %q", text)
	}
	if text, ok := p.judgeAndRun(rules, "edit_file", args{"path": "b", "oldText": "S3CRET", "newText": "x"}); ok {
		t.Errorf("an edit of a link to a denied file: %q", text)
	}
	if text, ok := p.judgeAndRun(rules, "read_file", args{"path": "c"}); !ok {
		t.Errorf("a link to a file that is allowed: %q", text)
	}
	if err := os.Link(filepath.Join(p.dir, "c"), outside); err != nil {
		t.Fatal(err)
	}
	if text, ok := p.judgeAndRun(rules, "read_file", args{"path": "c"}); !ok {
		t.Errorf("a link from outside, and no rule about what is outside: %q", text)
	}
	for _, rules := range []string{
		`{"*": "allow", "read_file": {"*": "allow", "/etc/**": "deny"}}`,
		`{"*": "allow", "read_*": {"/etc/**": "deny"}}`, // whatever names the tool
	} {
		if text, ok := p.judgeAndRun(layersOf(t, rules), "read_file", args{"path": "c"}); ok || !strings.Contains(text, "not known") {
			t.Errorf("a link from outside, and %s: %q", rules, text)
		}
	}
	reads := layersOf(t, `{"*": "allow", "read_file": {"*": "allow", "/etc/**": "deny"}}`)
	if text, ok := p.judgeAndRun(reads, "edit_file", args{"path": "c", "oldText": "open", "newText": "x"}); ok {
		t.Errorf("an edit of a link from outside, and a rule about reading: %q", text)
	}
}

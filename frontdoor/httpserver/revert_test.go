package httpserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/internal/snapshot"
)

// TestRevert: a session's changes of files are shown, and undone once it has ended. Changes of
// others are undone only by force.
func TestRevert(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	root := s.resp.Header.Get("Agent-Session")
	dir := t.TempDir()
	keep := snapshot.New(filepath.Join(e.storeDir, "snapshots"))
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(name, before, after string) {
		t.Helper()
		if err := keep.Keep(root, snapshot.Change{Step: 1, Root: dir, Path: name, Before: snapshot.Hash([]byte(before)), After: snapshot.Hash([]byte(after)), Mode: 0o600}, []byte(before)); err != nil {
			t.Fatal(err)
		}
		write(name, after)
	}
	change("a.txt", "one\n", "two\n")
	change("b.txt", "one\n", "two\n")
	post := func(body string, status int) string {
		t.Helper()
		resp, data := e.do(e.request("POST", "/v1/sessions/"+root+"/revert", body))
		if resp.StatusCode != status {
			t.Fatalf("%s: status %d: %s", body, resp.StatusCode, data)
		}
		return string(data)
	}
	two := snapshot.Hash([]byte("two\n"))
	a := `{"path": "a.txt", "now": "` + two + `"}`
	if text := post(`{"files": [`+a+`]}`, http.StatusConflict); !strings.Contains(text, `"running"`) {
		t.Error(text)
	}
	close(g.open)
	s.rest()
	e.await(root)

	write("b.txt", "three\n")
	resp, shown := e.do(e.request("GET", "/v1/sessions/"+root+"/changes", ""))
	for _, want := range []string{`"path":"a.txt","now":"` + two + `","diff":"--- before\n+++ now\n@@ -1 +1 @@\n-one\n+two\n"`, `"conflict":"it was changed after the session's last change of it"`} {
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(shown), want) {
			t.Errorf("%s\nlacks %s", shown, want)
		}
	}
	for body, want := range map[string]string{
		`{"files": []}`: "files is missing",
		`{"files": [{"path": "c.txt", "now": ""}]}`:              "has not changed c.txt",
		`{"files": [{"path": "../x", "now": ""}]}`:               "has not changed ../x",
		`{"files": [{"path": "a.txt", "now": ""}], "fource": 1}`: "fource",
	} {
		if text := post(body, http.StatusBadRequest); !strings.Contains(text, want) {
			t.Errorf("%s: %s", body, text)
		}
	}
	b := `{"path": "b.txt", "now": "` + snapshot.Hash([]byte("three\n")) + `"}`
	if text := post(`{"files": [`+a+`, `+b+`]}`, http.StatusOK); !strings.Contains(text, `"status":"conflicts","files":[],"conflicts":[{"path":"b.txt"`) {
		t.Error(text)
	}
	write("a.txt", "later\n")
	if text := post(`{"files": [`+a+`], "force": true}`, http.StatusOK); !strings.Contains(text, `"reason":"it has changed since it was shown"`) {
		t.Error(text)
	}
	write("a.txt", "two\n")
	if text := post(`{"files": [`+a+`, `+b+`], "force": true}`, http.StatusOK); !strings.Contains(text, `"status":"undone","files":["a.txt","b.txt"]`) {
		t.Error(text)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != "one\n" {
			t.Errorf("%s: %v, %q", name, err, content)
		}
	}
}

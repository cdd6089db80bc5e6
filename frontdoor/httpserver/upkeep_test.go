package httpserver_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/upkeep"
)

// repository is a git repository with a file.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "one"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir
}

// TestUpkeep: what a session has changed in its worktree is applied, but where it conflicts,
// or thrown away; a session is summarised, exported and deleted; one that runs is not.
func TestUpkeep(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	post := func(id, operation string, status int, code string) []byte {
		t.Helper()
		resp, body := e.do(e.request("POST", "/v1/sessions/"+id+"/"+operation, ""))
		if resp.StatusCode != status || code != "" && errorCode(t, body) != code {
			t.Fatalf("%s: status %d: %s", operation, resp.StatusCode, body)
		}
		return body
	}
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	root := s.resp.Header.Get("Agent-Session")
	post(root, "delete", http.StatusConflict, "running")
	close(g.open)
	s.rest()
	e.await(root)

	repo := repository(t)
	tree := func(content string) (file string) {
		t.Helper()
		w, err := e.trees.Create(t.Context(), repo, root)
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(w.Path, "a.txt")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tree("two\n")
	done := decode[upkeep.Done](t, post(root, "apply", http.StatusOK, ""))
	data, err := os.ReadFile(filepath.Join(repo, "a.txt"))
	if err != nil || string(data) != "two\n" || done.Status != "applied" || len(done.Files) != 1 || done.SessionID != root {
		t.Errorf("%v, %q, %+v", err, data, done)
	}
	post(root, "apply", http.StatusNotFound, "not_found")
	kept := tree("three\n")
	if err := os.WriteFile(filepath.Join(repo, "a.txt"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if done := decode[upkeep.Done](t, post(root, "apply", http.StatusOK, "")); done.Status != "conflicts" || len(done.Conflicts) != 1 {
		t.Errorf("a conflict: %+v", done)
	}
	post(root[:9], "discard", http.StatusNotFound, "not_found")
	if done := decode[upkeep.Done](t, post(root, "discard", http.StatusOK, "")); done.Status != "discarded" {
		t.Errorf("discard: %+v", done)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("what was thrown away is still there")
	}

	r, err := e.sessions.Index.Tree(t.Context(), e.await(root).Path)
	if err != nil || len(r) != 2 {
		t.Fatalf("%v, %v", r, err)
	}
	child := r[0].ID
	if child == root {
		child = r[1].ID
	}
	if got := decode[session.Summary](t, post(child, "summary", http.StatusOK, "")); got.Text != "first second" || got.SessionID != child {
		t.Errorf("the summary: %+v", got)
	}
	if resp, body := e.do(e.request("GET", "/v1/sessions/"+child+"/export?format=pdf", "")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("as PDF: status %d: %s", resp.StatusCode, body)
	}
	if got := decode[upkeep.Deleted](t, post(root, "delete", http.StatusOK, "")); got.Deleted != 2 {
		t.Errorf("deleted: %+v", got)
	}
	for _, operation := range []string{"delete", "summary", "discard"} {
		post(child, operation, http.StatusNotFound, "not_found")
	}
}

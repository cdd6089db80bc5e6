package httpserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// undoing is a session that has ended, with changes of files.
type undoing struct {
	*env
	root string // its id
	dir  string // where it has worked
	keep *snapshot.Store
}

func newUndoing(t *testing.T) *undoing {
	t.Helper()
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	close(g.open)
	s.rest()
	root := s.resp.Header.Get("Agent-Session")
	e.await(root)
	return &undoing{e, root, t.TempDir(), snapshot.New(filepath.Join(e.storeDir, "snapshots"))}
}

// change has the session change a file.
func (u *undoing) change(c snapshot.Change, before, after string) {
	u.t.Helper()
	if c.Root == "" {
		c.Root = u.dir
	}
	if c.Step, c.Mode, c.After = 1, 0o600, snapshot.Hash([]byte(after)); before != "" {
		c.Before = snapshot.Hash([]byte(before))
	}
	err := u.keep.Keep(u.root, c, []byte(before))
	if c.Root == u.dir {
		err = errors.Join(err, os.WriteFile(filepath.Join(u.dir, c.Path), []byte(after), 0o600))
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

// shown is the answer of changes.
type shown struct {
	Files   []shownFile
	Omitted int
}

type shownFile struct {
	Path, Now, Diff, Why string
	Undone               bool
}

func (u *undoing) changes() shown {
	u.t.Helper()
	resp, data := u.do(u.request("GET", "/v1/sessions/"+u.root+"/changes", ""))
	if resp.StatusCode != http.StatusOK {
		u.t.Fatalf("status %d: %s", resp.StatusCode, data)
	}
	return decode[shown](u.t, data)
}

func (u *undoing) revert(body string, status int) string {
	u.t.Helper()
	resp, data := u.do(u.request("POST", "/v1/sessions/"+u.root+"/revert", body))
	if resp.StatusCode != status {
		u.t.Fatalf("%s: status %d: %s", body, resp.StatusCode, data)
	}
	return string(data)
}

// TestChangesWhy: what is wrong with one file is said of that file, and the others are shown.
func TestChangesWhy(t *testing.T) {
	u := newUndoing(t)
	for _, name := range []string{"damaged", "fine", "folder"} {
		u.change(snapshot.Change{Path: name}, "was "+name, "new")
	}
	u.change(snapshot.Change{Path: "gone", Root: filepath.Join(u.dir, "worktree")}, "", "new")
	u.change(snapshot.Change{Path: "lost", Lost: true}, "one", "new")
	folder := filepath.Join(u.dir, "folder")
	damaged := filepath.Join(u.storeDir, "snapshots", u.root, snapshot.Hash([]byte("was damaged")))
	if err := errors.Join(os.Remove(folder), os.Mkdir(folder, 0o700), os.WriteFile(damaged, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []shownFile{
		{Path: "damaged", Why: "damaged: what is kept of it is damaged"},
		{Path: "folder", Why: "folder is no file any more"},
		{Path: "gone", Why: "the folder that the session worked in: "},
		{Path: "lost", Why: "lost: what it was before step 1 is not kept: it is too large"},
	} {
		got := u.changes().Files
		i := slices.IndexFunc(got, func(f shownFile) bool { return f.Path == want.Path })
		if len(got) != 5 || i < 0 || !strings.HasPrefix(got[i].Why, want.Why) || got[1].Diff == "" || got[1].Why != "" {
			t.Errorf("%s: the changes are %+v", want.Path, got)
		}
		fine := `{"path": "fine", "now": "` + snapshot.Hash([]byte("new")) + `"}`
		if text := u.revert(`{"files": [`+fine+`, {"path": "`+want.Path+`", "now": ""}], "force": true}`, http.StatusOK); !strings.Contains(text, `"status":"conflicts","files":[],"conflicts":[{"path":"`+want.Path+`","reason":"`+want.Why) {
			t.Error(text)
		}
	}
	if content, err := os.ReadFile(filepath.Join(u.dir, "fine")); err != nil || string(content) != "new" {
		t.Errorf("%v, %q", err, content)
	}
}

// TestRevertAll: where a file can't be made what it was, none is.
func TestRevertAll(t *testing.T) {
	u := newUndoing(t)
	u.change(snapshot.Change{Path: "a"}, "one", "new")
	if err := os.Mkdir(filepath.Join(u.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	u.change(snapshot.Change{Path: "sub/b"}, "one", "new")
	sub := filepath.Join(u.dir, "sub")
	if err := errors.Join(os.RemoveAll(sub), os.Symlink("nowhere", sub)); err != nil { // sub can't be made
		t.Fatal(err)
	}
	text := u.revert(`{"files": [{"path": "a", "now": "`+snapshot.Hash([]byte("new"))+`"}, {"path": "sub/b", "now": ""}], "force": true}`, http.StatusOK)
	if !strings.Contains(text, `"status":"conflicts","files":[],"conflicts":[{"path":"sub/b"`) {
		t.Error(text)
	}
	if content, err := os.ReadFile(filepath.Join(u.dir, "a")); err != nil || string(content) != "new" {
		t.Errorf("%v, %q", err, content)
	}
}

// TestRevertFault: snapshots that can't be read are a fault of the worker.
func TestRevertFault(t *testing.T) {
	u := newUndoing(t)
	if err := os.MkdirAll(filepath.Join(u.storeDir, "snapshots", u.root, "changes"), 0o700); err != nil { // it can't be read
		t.Fatal(err)
	}
	u.revert(`{"files": [{"path": "a", "now": ""}]}`, http.StatusInternalServerError)
}

// TestChangesBounds: an answer has so many files, and so long differences. It says how many files are left
// out; undone ones don't displace others.
func TestChangesBounds(t *testing.T) {
	u := newUndoing(t)
	const most, diffs = 500, 4 << 20
	for i := range most + 2 {
		u.change(snapshot.Change{Path: fmt.Sprintf("a%03d", i)}, "same", "same") // undone
	}
	for i := range 60 {
		u.change(snapshot.Change{Path: fmt.Sprintf("b%02d", i)}, "", strings.Repeat("line\n", 16<<10))
	}
	got := u.changes()
	sum, without := 0, 0
	for _, f := range got.Files[most:] {
		if sum += len(f.Diff); f.Diff == "" {
			without++
		}
	}
	if len(got.Files) != most+60 || got.Omitted != 2 || got.Files[most].Path != "b00" {
		t.Errorf("it shows %d files and omits %d", len(got.Files), got.Omitted)
	}
	if sum > diffs || sum < diffs*9/10 || without == 0 {
		t.Errorf("the differences have %d bytes, and %d have none", sum, without)
	}
	for i := range most {
		u.change(snapshot.Change{Path: fmt.Sprintf("c%03d", i)}, "", "new")
	}
	if got := u.changes(); len(got.Files) != 2*most || got.Omitted != 62 {
		t.Errorf("it shows %d files and omits %d", len(got.Files), got.Omitted)
	}
}

//go:build browser

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const changesScript = `
{"match": {"user": "build"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo begun; until test -e go; do sleep 0.1; done"}}]}
{"match": {"user": "build"}, "toolCalls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "new\n"}}, {"name": "write_file", "arguments": {"path": "folder.txt", "content": "new\n"}}, {"name": "write_file", "arguments": {"path": "old.txt", "content": "two\n"}}]}
{"match": {"user": "build"}, "text": "It is built."}
`

// TestPageChanges: a person moves a command to the background while its session waits. Then the
// person undoes the session's changes of files, and later ones of others with them.
func TestPageChanges(t *testing.T) {
	w := startPageWorker(t, changesScript+pageScript, map[string]string{
		".agents/agents/runner.md": "---\ndescription: Runs commands.\npermission: allow\n---\nRun.\n",
		"old.txt":                  "one\n",
	}, "--allow", "shell_exec:*", "--allow", "write_file:*")
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	id := w.task("runner", "build it")
	b.open("http://" + w.addr + "/sessions/" + id)
	b.click(".session button", "Command to the background")
	b.see(".session .pill", "completed")
	file := filepath.Join(w.dir, "greeter", "old.txt")
	if err := os.WriteFile(file, []byte("three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(w.dir, "greeter", "folder.txt")
	if err := errors.Join(os.Remove(blocked), os.Mkdir(blocked, 0o700)); err != nil {
		t.Fatal(err)
	}
	b.click(".session button", "Undo its changes")
	b.see(".undo .diff .add", "+new")
	b.see(".undo .warned", "it was changed after the session's last change of it")
	b.see(".undo", "It can't be undone: folder.txt is no file any more")
	b.shoot("changes-wide", 1280, 900, "light")
	b.shoot("changes-phone", 390, 844, "light")
	b.until("[...document.querySelectorAll('.undo button')][0].disabled")
	b.click(".undo label", "Undo the later changes of others")
	b.click(".undo button", "Undo these 2 files")
	b.see(".session [role=status]", "Undone: new.txt, old.txt")
	if content, err := os.ReadFile(file); err != nil || string(content) != "one\n" {
		t.Errorf("%v, %q", err, content)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "greeter", "new.txt")); err == nil {
		t.Error("new.txt is there")
	}
}

const worktreeScript = `
{"match": {"user": "build"}, "toolCalls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "new\n"}}]}
{"match": {"user": "build"}, "text": "It is built."}
`

// TestPageWorktree: the changes in a worktree are applied or discarded as a whole, and not undone by file.
func TestPageWorktree(t *testing.T) {
	w := startPageWorker(t, worktreeScript+pageScript, map[string]string{
		".agents/agents/runner.md": "---\ndescription: Writes.\npermission: allow\nisolation: worktree\n---\nWrite.\n",
	}, "--allow", "write_file:*")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", "first"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = filepath.Join(w.dir, "greeter")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	id := w.task("runner", "build it")
	b.open("http://" + w.addr + "/sessions/" + id)
	b.see(".session .pill", "completed")
	hidden := func(button string) string {
		return "[...document.querySelectorAll('.session button')].find((b) => b.textContent === '" + button + "').hidden"
	}
	b.until("!" + hidden("Discard them"))
	b.until(hidden("Undo its changes"))
}

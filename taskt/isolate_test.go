package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
)

// steps is a model whose prompt is what to do: "write NAME" and "task AGENT …",
// which goes to the end, after semicolons; "hang" ends with its session.
var steps = modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	text, n := prompt(req)
	for range n {
		_, text, _ = strings.Cut(text, "; ")
	}
	verb, rest, _ := strings.Cut(text, " ")
	var name string
	args := map[string]string{}
	switch verb {
	case "write":
		file, _, _ := strings.Cut(rest, ";")
		name, args["path"], args["content"] = "write_file", file, "x\n"
	case "task":
		agent, after, _ := strings.Cut(rest, " ")
		if strings.Count(after, "done") > 1 { // the last one is the caller's own
			after = strings.TrimSuffix(after, "; done")
		}
		name, args["description"], args["agentType"], args["prompt"] = "task", "d", agent, after
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	default:
		return answer("ok")(ctx, req, yield)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	_ = yield(model.ToolCall{ID: fmt.Sprint(n), Name: name, Arguments: string(raw)}) && yield(model.Stop{Reason: model.StopToolCalls})
	return nil
})

// isolating returns an environment whose workspace is a repository, and the
// worktrees that are made of it.
func isolating(t *testing.T) (*env, *worktree.Store) {
	t.Helper()
	kept := worktree.Open(filepath.Join(t.TempDir(), "worktrees"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	var ws *tool.Workspace
	e := setup{
		model: steps, limits: taskt.Limits{Depth: 3},
		files: map[string]string{"apart.md": agentFile("isolation: worktree"), "plain.md": agentFile()},
		isolate: func(ctx context.Context, from, id string) (*workdir.Dir, error) {
			w, err := kept.Create(ctx, from, id)
			if err != nil {
				return nil, err
			}
			files, err := ws.OpenWorktree(w)
			if err != nil {
				return nil, err
			}
			return &workdir.Dir{Worktree: w, Paths: files.Paths(), Tools: tool.Builtin(files), Close: files.Close}, nil
		},
	}.open(t)
	git := exec.Command("sh", "-c", "git init -q . && echo one >one && git add . && git -c user.name=a -c user.email=a@b commit -qm one")
	git.Dir = e.folder
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var err error
	if ws, err = tool.OpenWorkspace(e.folder, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return e, kept
}

// TestIsolated: an agent with isolation: worktree works in its own worktree. Its subagents work
// in the same one, or in one made of it.
func TestIsolated(t *testing.T) {
	e, kept := isolating(t)
	res := e.Call(t.Context(), e.root, taskt.Input{AgentType: "apart", Prompt: "write a; task plain write b; done; done"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	w := res.Record.Worktree
	if w == nil || w.Diffstat != "2 files changed, 2 insertions(+)" || w.Files != 2 || w.Branch != "agentworker/"+res.SessionID || w.Removed || w.Error != "" {
		t.Fatalf("%+v", w)
	}
	if doc := res.Document(); doc.Worktree != w || doc.Text != "ok" || !strings.Contains(doc.Result, "\nok\n\n[worktree: 2 files changed, 2 insertions(+), on branch "+w.Branch+" in "+w.Path+"; ") {
		t.Errorf("%+v", doc)
	}
	// What is stored says the same, by the index and by the log.
	for _, read := range []func() (*record.Record, error){
		func() (*record.Record, error) { return e.sessions.Store().Index.Get(t.Context(), res.SessionID) },
		func() (*record.Record, error) {
			state, err := log.Fold(func(yield func(log.Entry) bool) {
				for entry, err := range e.bus.Log(t.Context(), res.Record.Path) {
					if err != nil {
						t.Error(err)
						return
					}
					if !yield(log.Entry(entry)) {
						return
					}
				}
			})
			if err != nil {
				return nil, err
			}
			return &state.Record, nil
		},
	} {
		if r, err := read(); err != nil || r.Worktree == nil || *r.Worktree != *w {
			t.Errorf("stored: %+v, %v", r, err)
		}
	}
	res = e.Call(t.Context(), e.root, taskt.Input{AgentType: "apart", Prompt: "write a; task apart write b; done; done"})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	all, err := kept.List()
	if err != nil || len(all) != 3 || all[2].Repo != all[1].Path || all[1].ID != res.SessionID {
		t.Fatalf("%+v, %v", all, err)
	}
	if res.Record.Worktree.Diffstat != "1 file changed, 1 insertion(+)" {
		t.Errorf("with a worktree of its own below it: %+v", res.Record.Worktree)
	}
	if _, err := os.Stat(filepath.Join(all[2].Path, "a")); err != nil {
		t.Errorf("the inner one lacks what the outer one had: %v", err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(e.folder, name)); err == nil {
			t.Errorf("%s is in the workspace", name)
		}
	}
	if res = e.Call(t.Context(), e.root, taskt.Input{AgentType: "apart", Prompt: "done"}); res.Err != nil || !res.Record.Worktree.Removed {
		t.Errorf("unused: %+v, %v", res.Record.Worktree, res.Err)
	}
}

// TestIsolatedCancelled: the worktree of a task that does not complete is kept.
func TestIsolatedCancelled(t *testing.T) {
	e, kept := isolating(t)
	run := e.Start(t.Context(), e.root, taskt.Input{AgentType: "apart", Prompt: "hang"})
	run.Cancel("enough")
	<-run.Done()
	w := run.Result().Record.Worktree
	if w == nil || w.Removed || w.Diffstat != "no files changed" {
		t.Errorf("%+v", w)
	}
	if all, err := kept.List(); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestNotIsolated: where no worktree can be made, no child begins.
func TestNotIsolated(t *testing.T) {
	for want, isolate := range map[string]func(context.Context, string, string) (*workdir.Dir, error){
		"none is made here": nil,
		"no disk":           func(context.Context, string, string) (*workdir.Dir, error) { return nil, errors.New("no disk") },
	} {
		e := setup{model: answer("ok"), files: map[string]string{"apart.md": agentFile("isolation: worktree", "mode: all")}, isolate: isolate}.open(t)
		res := e.Call(t.Context(), e.root, taskt.Input{AgentType: "apart", Prompt: "p"})
		if res.Err == nil || !strings.Contains(res.Err.Error(), want) || res.SessionID != "" {
			t.Errorf("%v, session %q; want %q", res.Err, res.SessionID, want)
		}
		def, err := e.Find("apart")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.OpenPrimary(t.Context(), def, "p"); err == nil || !strings.Contains(err.Error(), "worker task apart") {
			t.Errorf("as a primary agent: %v", err)
		}
	}
}

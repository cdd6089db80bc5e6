package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// patchOf returns the arguments of a patch with these sections.
func patchOf(sections ...string) args {
	return args{"input": "*** Begin Patch\n" + strings.Join(sections, "\n") + "\n*** End Patch\n"}
}

// files returns all files below the folder of a place, as path and content.
func (p *place) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		all[rel] = string(content)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func TestApplyPatch(t *testing.T) {
	const bom = "\uFEFF"
	for _, c := range []struct {
		name   string
		before map[string]string
		patch  []string
		want   map[string]string
		says   string
	}{
		{"one of each", map[string]string{"modify.txt": "line1\nline2\n", "delete.txt": "obsolete\n"},
			[]string{"*** Add File: nested/new.txt\n+created", "*** Delete File: delete.txt", "*** Update File: modify.txt\n@@\n-line2\n+changed"},
			map[string]string{"modify.txt": "line1\nchanged\n", "nested/new.txt": "created\n"},
			"Success. Updated the following files:\nA nested/new.txt\nD delete.txt\nM modify.txt"},
		{"move", map[string]string{"old/name.txt": "old content\n", "old/other.txt": "unrelated\n"},
			[]string{"*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-old content\n+new content"},
			map[string]string{"renamed/dir/name.txt": "new content\n", "old/other.txt": "unrelated\n"}, "D old/name.txt\nA renamed/dir/name.txt"},
		{"move over another", map[string]string{"a": "from\n", "b": "existing\n"}, []string{"*** Update File: a\n*** Move to: b\n@@\n-from\n+new"}, map[string]string{"b": "new\n"}, "M b"},
		{"move alone", map[string]string{"a": "x\n"}, []string{"*** Update File: a\n*** Move to: b"}, map[string]string{"b": "x\n"}, "A b"},
		{"move to itself", map[string]string{"a": "x\n"}, []string{"*** Update File: a\n*** Move to: ./a\n@@\n-x\n+y"}, map[string]string{"a": "y\n"}, "M a"},
		{"add over another", map[string]string{"a": "old\n"}, []string{"*** Add File: a\n+new"}, map[string]string{"a": "new\n"}, "M a"},
		{"twice the same", map[string]string{"a": "1\n2\n"}, []string{"*** Update File: a\n@@\n-1\n+one", "*** Update File: a\n@@\n-2\n+two"}, map[string]string{"a": "one\ntwo\n"}, "M a"},
		{"swap", map[string]string{"a": "A\n", "b": "B\n"},
			[]string{"*** Update File: a\n*** Move to: c", "*** Update File: b\n*** Move to: a", "*** Update File: c\n*** Move to: b"}, map[string]string{"a": "B\n", "b": "A\n"}, "M a\nM b"},
		{"CRLF and BOM", map[string]string{"a": bom + "x\r\ny\r\n"}, []string{"*** Update File: a\n@@\n x\n-y\n+z\n+w"}, map[string]string{"a": bom + "x\r\nz\r\nw\r\n"}, "M a"},
		{"UTF-16", map[string]string{"a": "\xff\xfea\x00\n\x00b\x00\n\x00"}, []string{"*** Update File: a\n@@\n-b\n+é"}, map[string]string{"a": "\xff\xfea\x00\n\x00\xe9\x00\n\x00"}, "M a"},
		{"through a link", map[string]string{"real/a": "x\n"}, []string{"*** Update File: real/a\n@@\n-x\n+y"}, map[string]string{"real/a": "y\n"}, "M real/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil, c.before)
			got := p.text("apply_patch", patchOf(c.patch...))
			if all := p.files(); !reflect.DeepEqual(all, c.want) || !strings.Contains(got, c.says) {
				t.Errorf("%q, %q; want %q, %q", all, got, c.want, c.says)
			}
		})
	}
}

// TestApplyPatchAllOrNothing: whatever is wrong with a section, no file changes.
func TestApplyPatchAllOrNothing(t *testing.T) {
	const good = "*** Update File: a\n@@\n-x\n+y\n*** Add File: new/one\n+z\n*** Delete File: gone"
	for _, c := range []struct{ name, bad, want string }{
		{"no such lines", "*** Update File: b\n@@\n-nothing\n+y", "nothing has changed: b: line 10 of the patch: these lines are not in the file:\nnothing"},
		{"no such file", "*** Update File: missing\n@@\n-x\n+y", "missing: file does not exist"},
		{"nothing to delete", "*** Delete File: missing", "missing: file does not exist"},
		{"a folder", "*** Delete File: dir", "dir: it is a folder"},
		{"binary", "*** Update File: bin\n@@\n-x\n+y", "bin: it is a binary file"},
		{"read-only", "*** Update File: fixed\n@@\n-x\n+y", "fixed is read-only (mode 0444)"},
		{"read-only, to be removed", "*** Delete File: fixed", "fixed is read-only (mode 0444)"},
		{"a link to delete", "*** Delete File: link", "link is a link to b: give that path"},
		{"below a file", "*** Add File: b/c\n+x", "b"},
		{"too large", "*** Add File: big\n+" + strings.Repeat("x", 2000), "big would have 2.0 KiB, more than the 1000 B that a file may have"},
		{"a repository", "*** Add File: r/HEAD\n+ref: refs/heads/main\n*** Add File: r/refs/x\n+x\n*** Add File: r/objects/x\n+x", "is refused"},
		{"no patch", "nonsense", `"nonsense" is no header`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, &tool.Options{MaxFileBytes: 1000}, map[string]string{
				"a": "x\n", "b": "x\n", "gone": "g\n", "dir/f": "x", "bin": "x\x00", "fixed": "x\n", "link": "-> b",
			})
			if err := os.Chmod(filepath.Join(p.dir, "fixed"), 0o444); err != nil {
				t.Fatal(err)
			}
			before := p.files()
			p.fails("apply_patch", patchOf(good, c.bad), c.want)
			if after := p.files(); !reflect.DeepEqual(before, after) {
				t.Errorf("%q has become %q", before, after)
			}
		})
	}
}

func TestApplyPatchKeepsModes(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"run.sh": "x\n", "b.sh": "x\n"})
	for _, name := range []string{"run.sh", "b.sh"} {
		if err := os.Chmod(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.text("apply_patch", patchOf("*** Update File: run.sh\n@@\n-x\n+y", "*** Update File: b.sh\n*** Move to: c.sh\n@@\n-x\n+y"))
	for _, name := range []string{"run.sh", "c.sh"} {
		if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestApplyPatchValues: each path is judged by the rules of the tool that does the same.
func TestApplyPatchValues(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"u": "x\n", "m": "x\n", "d": "x\n", "link": "-> secret/f", "secret/f": "x\n"})
	for _, c := range []struct {
		patch, rules string
		want         permission.Action
	}{
		{"*** Update File: u\n@@\n-x\n+y", `{"*": "deny", "edit_file": "allow", "read_file": "allow"}`, permission.Allow},
		{"*** Update File: u\n@@\n-x\n+y", `{"*": "allow", "edit_file": "deny"}`, permission.Deny},
		{"*** Update File: u\n@@\n-x\n+y", `{"*": "allow", "read_file": {"u": "deny"}}`, permission.Deny},
		{"*** Add File: n\n+y", `{"*": "deny", "write_file": "allow"}`, permission.Allow},
		{"*** Add File: n\n+y", `{"*": "allow", "write_file": {"n": "ask"}}`, permission.Ask},
		{"*** Delete File: d", `{"*": "allow", "write_file": {"d": "deny"}}`, permission.Deny},
		{"*** Delete File: d", `{"*": "deny", "write_file": "allow"}`, permission.Allow},
		{"*** Update File: m\n*** Move to: t\n@@\n-x\n+y", `{"*": "allow", "write_file": {"t": "deny"}}`, permission.Deny},
		{"*** Update File: m\n*** Move to: t\n@@\n-x\n+y", `{"*": "allow", "write_file": {"m": "deny"}}`, permission.Deny},
		{"*** Update File: m\n*** Move to: t\n@@\n-x\n+y", `{"*": "allow", "edit_file": {"m": "deny"}}`, permission.Deny},
		{"*** Update File: link\n@@\n-x\n+y", `{"*": "allow", "edit_file": {"secret/**": "deny"}}`, permission.Deny},
		{"*** Update File: u\n@@\n-x\n+y\n*** Add File: .agents/agents/a.md\n+x", `{"*": "allow"}`, permission.Ask},
		{"*** Delete File: .agents/agents/a.md", `{"*": "allow"}`, permission.Ask},
	} {
		ws, err := tool.OpenWorkspace(p.dir, &tool.Options{AgentFiles: tool.AgentFiles{Folders: []string{".agents/agents"}}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tool.Builtin(ws), func(b tool.Tool) bool { return b.Spec().Name == "apply_patch" })
		raw, err := json.Marshal(patchOf(c.patch))
		if err != nil {
			t.Fatal(err)
		}
		values, err := tool.Builtin(ws)[i].Values(raw)
		if err != nil {
			t.Errorf("%s: %v", c.patch, err)
		}
		if got := layersOf(t, c.rules).Decide(values); got.Action != c.want {
			t.Errorf("%s with %s: %v, want %v", c.patch, c.rules, got.Action, c.want)
		}
		ws.Close()
	}
}

// TestApplyPatchRefused: no rule is asked about what can't be done at all.
func TestApplyPatchRefused(t *testing.T) {
	p := newPlace(t, nil, nil)
	for patch, want := range map[string]string{
		"*** Add File: ../x\n+x":                                     "outside the workspace",
		"*** Update File: a\n*** Move to: /etc/x\n@@\n-x\n+y":        "outside the workspace",
		"*** Update File: a\n@@\nx":                                  "line 4 of the patch",
		strings.Repeat("*** Delete File: a\n", 101) + "*** Nonsense": "more than 100 files",
	} {
		raw, err := json.Marshal(patchOf(patch))
		if err != nil {
			t.Fatal(err)
		}
		if values, err := p.tools["apply_patch"].Values(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want the error %q", patch, values, err, want)
		}
	}
}

// TestApplyPatchStale: a file that somebody else has changed is not overwritten.
func TestApplyPatchStale(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a": "x\n", "b": "x\n"})
	p.text("read_file", args{"path": "a"})
	p.put("a", "x\nby an editor\n")
	p.fails("apply_patch", patchOf("*** Update File: b\n@@\n-x\n+y", "*** Add File: a\n+new"), "a was changed after you had read it")
	p.fails("apply_patch", patchOf("*** Update File: b\n@@\n-x\n+y", "*** Delete File: a"), "a was changed after you had read it")
	p.text("apply_patch", patchOf("*** Update File: b\n@@\n-x\n+y", "*** Update File: a\n@@\n-x\n+y"))
	if got := p.read("a"); got != "y\nby an editor\n" {
		t.Errorf("%q", got)
	}
	p.text("apply_patch", patchOf("*** Delete File: b"))
	p.text("write_file", args{"path": "b", "content": "again"})
}

// TestApplyPatchIsTold: the outcome names each file, and so does the description.
func TestApplyPatchIsTold(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a": "x\n", "d": "x\n"})
	a := patchOf("*** Update File: a\n@@\n-x\n+y", "*** Add File: n\n+z", "*** Delete File: d")
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	d := p.tools["apply_patch"].Describe(&tool.Call{Args: raw})
	want := tool.Description{Title: "change a, create n, delete d", Parts: []tool.Part{
		{Name: "a, changes", Form: tool.Diff, Text: "@@ -1 +1 @@\n-x\n+y\n"}, {Name: "n, text", Form: tool.Text, Text: "z\n"},
	}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, want %+v", d, want)
	}
	got := p.call("apply_patch", a).Changes
	x, y, z := tool.Hash([]byte("x\n")), tool.Hash([]byte("y\n")), tool.Hash([]byte("z\n"))
	if want := []tool.Change{{"a", x, y}, {"n", "", z}, {"d", x, ""}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestEdits(t *testing.T) {
	edit := func(old, by string) args { return args{"oldText": old, "newText": by} }
	for _, c := range []struct {
		name, file string
		args       args
		want, says string
	}{
		{"several", "a\nb\nc\n", args{"edits": []args{edit("a", "A"), edit("c", "C")}}, "A\nb\nC\n", "replaced 2 occurrences in f, at line 1; line 3"},
		{"each on the one before", "a\n", args{"edits": []args{edit("a", "b"), edit("b", "c")}}, "c\n", "at line 1; line 1"},
		{"all of one", "a a b\n", args{"edits": []args{{"oldText": "a", "newText": "x", "replaceAll": true}, edit("b", "y")}}, "x x y\n", "replaced 3 occurrences"},
		{"null beside", "a\n", args{"oldText": nil, "newText": nil, "edits": []args{edit("a", "b")}}, "b\n", "at line 1"},
		{"CRLF", "a\r\nb\r\n", args{"edits": []args{edit("a\nb", "x\ny"), edit("y", "z")}}, "x\r\nz\r\n", "at line"},
		{"one fails", "a\nb\n", args{"edits": []args{edit("a", "A"), edit("c", "C")}}, "a\nb\n", "f: edit 2 of 2: oldText does not occur: read the file again and copy the text exactly, without line numbers; none is made"},
		{"cut off", "a\n", args{"edits": []args{edit("a", "A"), {"oldText": "b"}}}, "a\n", `arguments: edits, item 2: the key "newText" is missing`},
		{"no new text", "a\n", args{"oldText": "a"}, "a\n", `the key "newText" is missing`},
		{"neither", "a\n", args{}, "a\n", `the key "oldText" is missing`},
		{"both", "a\n", args{"oldText": "a", "newText": "b", "edits": []args{edit("a", "b")}}, "a\n", "give either oldText and newText, or edits"},
		{"too many", "a\n", args{"edits": slices.Repeat([]args{edit("a", "a b")}, 101)}, "a\n", "101 edits: a call may have 100"},
	} {
		p := newPlace(t, nil, map[string]string{"f": c.file})
		c.args["path"] = "f"
		got := p.call("edit_file", c.args)
		if p.read("f") != c.want || !strings.Contains(got.Text, c.says) || got.IsError != (c.want == c.file) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, p.read("f"), got.Text, c.want, c.says)
		}
	}
}

// TestPatchEnds: a call whose time is over changes nothing.
func TestPatchEnds(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a": "x\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := p.callWith(ctx, "apply_patch", patchOf("*** Update File: a\n@@\n-x\n+y"), nil); !got.IsError || p.read("a") != "x\n" {
		t.Errorf("%+v, %q", got, p.read("a"))
	}
}

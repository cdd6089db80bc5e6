package toolcatalog

import (
	"slices"
	"testing"
)

func TestTable(t *testing.T) {
	names := map[string]string{} // of tools, here and elsewhere
	for _, tool := range All {
		for _, name := range append(tool.OtherNames(), tool.Name) {
			if other, ok := names[name]; ok {
				t.Errorf("%q means both %s and %s", name, other, tool.Name)
			}
			names[name] = tool.Name
		}
		if tool.Kind == "" {
			t.Errorf("%s has no kind", tool.Name)
		}
		if (tool.Group == "") != (tool.Own || tool.RuledByWriters) {
			t.Errorf("%s: a tool has a group in lists, or it is about its own session, or it has no rules of its own", tool.Name)
		}
	}
	for _, g := range Groups() {
		for _, name := range g.Tools {
			if found, ok := Find(name); !ok || found.Group != g.Word {
				t.Errorf("group %q lists %s, whose row has %q", g.Word, name, found.Group)
			}
		}
	}
	if other, ok := Find("mcp_server_tool"); ok || other.Kind != KindOther {
		t.Errorf("an unknown tool is %+v, %v", other, ok)
	}
	if want := []string{WriteFile, EditFile}; !slices.Equal(Writers, want) {
		t.Errorf("writers are %v, want %v", Writers, want)
	}
}

// TestHooks holds what hooks of other programs are told of calls that change files.
func TestHooks(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{EditFile, `{"path":"a","oldText":"x","newText":"y"}`, `{"file_path":"/ws/a","new_string":"y","old_string":"x"}`},
		{EditFile, `{"path":"a","edits":[{"oldText":"x","newText":"y","replaceAll":true}]}`,
			`{"edits":[{"new_string":"y","old_string":"x","replace_all":true}],"file_path":"/ws/a"}`},
		{ApplyPatch, `{"input":"*** Begin Patch"}`, `{"command":"*** Begin Patch"}`},
	} {
		got := ToHook(c.tool, []byte(c.args), "/ws", false)
		if string(got) != c.want {
			t.Errorf("%s: a hook is told %s, want %s", c.tool, got, c.want)
		}
		if back := FromHook(c.tool, got, false); c.tool == ApplyPatch && string(back) != c.args {
			t.Errorf("%s: %s comes back as %s", c.tool, got, back)
		}
	}
	if got := HookNames(ApplyPatch, false); !slices.Equal(got, []string{"apply_patch", "Write", "Edit", "MultiEdit", "apply_patch"}) {
		t.Errorf("hooks may mean apply_patch by %v", got)
	}
}

func TestPatchPaths(t *testing.T) {
	got := PatchPaths("*** Begin Patch\n*** Update File: a\n*** Move to: b c\n@@\n-x\n*** Delete File: d\r\n*** Add File: e\n+*** Add File: f\n*** End Patch")
	if want := []string{"a", "b c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

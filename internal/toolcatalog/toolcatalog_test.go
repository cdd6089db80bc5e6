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
		if (tool.Group == "") != tool.Own {
			t.Errorf("%s: a tool has a group in lists, or it is about its own session", tool.Name)
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

package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestListChanged: a host is told when another set of agents is offered, once
// for each change, and then lists it.
func TestListChanged(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, map[string]string{"aide.md": "---\ndescription: Helps.\n---\n"})
	told := make(chan struct{}, 100)
	host := e.connect(t, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	if caps := host.InitializeResult().Capabilities; caps.Tools == nil || !caps.Tools.ListChanged {
		t.Errorf("capabilities %+v, want tools.listChanged", caps)
	}
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(e.dir, name)
		if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o644), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	list := func() string {
		t.Helper()
		tools, err := host.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "task" })
		schema, err := json.Marshal(tools.Tools[i].InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		return string(schema)
	}
	if got := list(); !strings.Contains(got, `"enum":["aide","explore","general"]`) {
		t.Errorf("at first: %s", got)
	}
	for _, tt := range []struct{ name, content, want string }{
		{"second.md", "---\ndescription: Helps too.\n---\n", `"enum":["aide","explore","general","second"]`},
		{"second.md", "---\ndescription: Helps too.\nhidden: true\n---\n", `"enum":["aide","explore","general"]`},
		{"aide.md", "---\ndescription: Helps.\ncallers: explore\n---\n", `"enum":["explore","general"]`},
	} {
		write(tt.name, tt.content)
		<-told
		if got := list(); !strings.Contains(got, tt.want) {
			t.Errorf("%s, %q: %s, want %s", tt.name, tt.content, got, tt.want)
		}
	}
	if len(told) > 0 {
		t.Errorf("told %d times more than there were changes", len(told))
	}
}

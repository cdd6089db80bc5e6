package mcpserver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResources: a host reads the transcripts of its own sessions, and of no
// others.
func TestResources(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			e := newEnv(t, modelFunc(echo), 0, map[string]string{"explore.md": "---\ndescription: Looks.\ninspectable: true\n---\nLook.\n"})
			host := e.connectBy(t, "stdio", version, nil)
			other := e.connectBy(t, "HTTP", version, nil)
			if list, err := host.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
				t.Fatalf("at first: %+v, %v", list, err)
			}
			templates, err := host.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "session://{id}" {
				t.Fatalf("templates %+v, %v", templates, err)
			}
			res, err := host.CallTool(t.Context(), call("explore", "the secret of this host"))
			if err != nil {
				t.Fatal(err)
			}
			id, _ := res.Meta["sessionId"].(string)
			list, err := host.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != 2 || list.Resources[0].URI != "session://"+id || list.Resources[0].Title != "explore: a test" {
				t.Fatalf("resources %+v, %v", list, err)
			}
			for _, r := range list.Resources {
				read, err := host.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
				if err != nil || len(read.Contents) != 1 || read.Contents[0].MIMEType != "text/markdown" || !strings.Contains(read.Contents[0].Text, "the secret of this host") {
					t.Errorf("%s: %+v, %v", r.URI, read, err)
				}
			}
			if _, err := host.CallTool(t.Context(), call("general", "it nests in its caller's")); err != nil {
				t.Fatal(err)
			}
			root := list.Resources[1].URI
			list, err = host.ListResources(t.Context(), nil)
			read, readErr := host.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: root})
			if err != nil || readErr != nil || len(list.Resources) != 2 || !strings.Contains(read.Contents[0].Text, "> > it nests in its caller's") {
				t.Errorf("after a call of an agent that is not inspectable: %+v, %v; %+v, %v", list, err, read, readErr)
			}
			if _, err := other.CallTool(t.Context(), call("explore", "another")); err != nil {
				t.Fatal(err)
			}
			want := 2
			if version == "2026-07-28" { // it shares its root with all of its name
				want = 0
			}
			list, err = other.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != want {
				t.Errorf("another host: resources %+v, %v, want %d", list, err, want)
			}
			for _, uri := range []string{
				"session://" + id, "session://" + id[:8], "session://", "session://*", "session://..%2f..", "session://ses_0000000000000000", "file:///etc/passwd",
			} {
				if read, err := other.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("another host reads %s: %+v, %v", uri, read, err)
				}
			}
		})
	}
}

// TestPrompts: there is a prompt for each primary agent of the moment.
func TestPrompts(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, map[string]string{
		"lead.md":   "---\ndescription: Leads.\nmode: primary\n---\nLead on.\n",
		"both.md":   "---\ndescription: Does both.\nmode: all\n---\n",
		"hidden.md": "---\ndescription: Hides.\nmode: primary\nhidden: true\n---\n",
		"sub.md":    "---\ndescription: Helps.\n---\n",
	})
	told := make(chan struct{}, 100)
	host := e.connectBy(t, "stdio", "2025-11-25", &mcp.ClientOptions{
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { told <- struct{}{} },
	})
	names := func() string {
		t.Helper()
		list, err := host.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, p := range list.Prompts {
			all = append(all, p.Name)
		}
		return strings.Join(all, " ")
	}
	if got := names(); got != "both lead" {
		t.Errorf("prompts %q, want both and lead", got)
	}
	for _, tt := range []struct{ name, task, want string }{
		{"lead", " the team ", "Work as the agent lead: Leads.\n\nIts instructions:\n\nLead on.\n\nThe task:\n\nthe team\n"},
		{"both", "", "Work as the agent both: Does both.\n\nAsk what the task is.\n"},
	} {
		res, err := host.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: tt.name, Arguments: map[string]string{"task": tt.task}})
		if err != nil || len(res.Messages) != 1 {
			t.Fatalf("%s: %+v, %v", tt.name, res, err)
		}
		if got := res.Messages[0].Content.(*mcp.TextContent).Text; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{"sub", "hidden", "nobody"} {
		if res, err := host.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); err == nil {
			t.Errorf("%s: %+v, want an error", name, res)
		}
	}
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(e.dir, name)
		if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o644), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		<-told
	}
	write("lead.md", "---\ndescription: Leads.\n---\n")
	if got := names(); got != "both" {
		t.Errorf("prompts %q, want both", got)
	}
	write("new.md", "---\ndescription: New.\nmode: primary\n---\n")
	if got := names(); got != "both new" {
		t.Errorf("prompts %q, want both and new", got)
	}
}

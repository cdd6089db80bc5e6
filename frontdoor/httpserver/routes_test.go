package httpserver

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver/openapi"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/taskt/upkeep"
)

// TestDescribedRoutes: the description has the routes of the server, each with its scope,
// and no others; and all codes of errors and types of events.
func TestDescribedRoutes(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]yaml.Node
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	if err := yaml.Unmarshal(openapi.Document, &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Components.Schemas["ErrorCode"].Enum; !slices.Equal(got, problem.Codes()) {
		t.Errorf("codes of errors: %v, want %v", got, problem.Codes())
	}
	if got := doc.Components.Schemas["EventType"].Enum; !slices.Equal(got, event.Types()) {
		t.Errorf("types of events: %v, want %v", got, event.Types())
	}
	documented := make(map[string]string) // scopes, by method and path
	for path, item := range doc.Paths {
		for method, node := range item {
			var op struct {
				Scope    string `yaml:"x-scope"`
				Security *[]any
			}
			if slices.Contains([]string{"parameters", "description"}, method) {
				continue
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(path, err)
			}
			documented[strings.ToUpper(method)+" "+path] = op.Scope
			if open := op.Security != nil; open != (op.Scope == string(caller.Anyone)) {
				t.Errorf("%s %s: the scope is %s, and security %v", method, path, op.Scope, op.Security)
			}
		}
	}
	opts := &Options{MCP: noMCP{}, Profiles: true, Upkeep: new(upkeep.Upkeep), Snapshots: new(snapshot.Store)}
	s := &Server{opts: opts, page: page.New(page.Options{Logger: slog.New(slog.DiscardHandler)})}
	for _, r := range s.table() {
		methods := []string{r.method}
		if r.method == "" {
			methods = []string{http.MethodGet, http.MethodPost, http.MethodDelete}
		}
		for _, method := range methods {
			name := method + " " + strings.ReplaceAll(strings.TrimSuffix(r.path, "{$}"), "...}", "}")
			if documented[name] != string(r.scope) || r.scope == "" {
				t.Errorf("%s is for %q, and described as for %q", name, r.scope, documented[name])
			}
			delete(documented, name)
		}
	}
	for name := range documented {
		t.Errorf("%s is described, and is no route", name)
	}
}

type noMCP struct{ http.Handler }

func (noMCP) Identities() []caller.Identity { return nil }
func (noMCP) End(caller.Identity)           {}
func (noMCP) Close()                        {}

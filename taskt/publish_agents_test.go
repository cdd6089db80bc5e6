package taskt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/taskt"
)

// history is a registry whose changes are given.
type history []agentdefs.Change

func (h history) Snapshot() *agentdefs.Snapshot { return h[len(h)-1].Snapshot }

func (h history) Changes(context.Context) iter.Seq[agentdefs.Change] { return slices.Values(h) }

// announced returns all agents_changed events of the workspace.
func (e *env) announced(t testing.TB) []event.AgentsChanged {
	t.Helper()
	var got []event.AgentsChanged
	for _, d := range e.stream(t, event.WorkspacePath()) {
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.(event.AgentsChanged))
	}
	return got
}

// TestAnnounce: each change is an event, and what is known already is not told
// again at the next start.
func TestAnnounce(t *testing.T) {
	one := snapshot(t, map[string]string{"aide.md": agentFile()})
	two := snapshot(t, map[string]string{"aide.md": agentFile("maxSteps: 3"), "new.md": agentFile(), "bad.md": "---\nmaxSteps: 1\n---\n"})
	e := newEnv(t, answer("x"), taskt.Limits{}, nil)
	announce := func(changes ...agentdefs.Change) { taskt.PublishAgents(t.Context(), history(changes), e.bus, nil) }

	announce(agentdefs.Change{Snapshot: one, Added: []string{"aide", "explore", "general"}})
	announce(agentdefs.Change{Snapshot: one, Added: []string{"aide", "explore", "general"}},
		agentdefs.Change{Snapshot: two, Added: []string{"new"}, Changed: []string{"aide"}})
	announce(agentdefs.Change{Snapshot: two, Added: []string{"aide", "explore", "general", "new"}})
	announce(agentdefs.Change{Snapshot: one, Added: []string{"aide", "explore", "general"}}) // while no worker ran

	got := e.announced(t)
	var lines []string
	for _, ev := range got {
		lines = append(lines, ev.Summary())
	}
	want := []string{
		"agents changed: +aide +explore +general (version 1, 3 agents)",
		"agents changed: +new ~aide (version 1, 4 agents, 1 error)",
		"agents changed: -new (version 1, 3 agents)",
	}
	if !slices.Equal(lines, want) {
		t.Fatalf("got  %s\nwant %s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if got[0].Fingerprint != got[2].Fingerprint || got[0].Fingerprint == got[1].Fingerprint || got[0].Fingerprint == "" {
		t.Errorf("fingerprints %q, %q, %q", got[0].Fingerprint, got[1].Fingerprint, got[2].Fingerprint)
	}
	if want := []string{"aide", "explore", "general", "new"}; !reflect.DeepEqual(got[1].Agents, want) {
		t.Errorf("agents %v, want %v", got[1].Agents, want)
	}
	raw := e.stream(t, event.WorkspacePath())[0].Raw
	if want := `"changed":[],"removed":[],"diagnostics":[]`; !strings.Contains(string(raw), want) {
		t.Errorf("%s lacks %s", raw, want)
	}
}

// TestAnnounceMany: the event of many agents with many findings fits into a
// message of 1 MiB, what NATS servers take unless told otherwise.
func TestAnnounceMany(t *testing.T) {
	files := map[string]string{}
	var names []string
	for i := range 10_000 {
		name := fmt.Sprintf("agent-of-a-large-team-%05d", i)
		files[name+".md"] = "---\ndescription: d\nwhatever: x\ntemperature: 9\n---\nWork.\n"
		names = append(names, name)
	}
	s := snapshot(t, files)
	e := newEnv(t, answer("x"), taskt.Limits{}, nil)
	taskt.PublishAgents(t.Context(), history{{Snapshot: s, Added: names}}, e.bus, nil)
	raw := e.stream(t, event.WorkspacePath())[0].Raw
	got := e.announced(t)[0]
	if len(raw) >= 1<<20 || len(got.Added) != len(names) || len(got.Diagnostics) != 200 || got.DiagnosticsOmitted != len(s.Diagnostics())-200 {
		t.Errorf("%d bytes, %d added, %d diagnostics and %d left out of %d", len(raw), len(got.Added), len(got.Diagnostics), got.DiagnosticsOmitted, len(s.Diagnostics()))
	}
	for _, d := range got.Diagnostics { // the worst first
		var finding agentdefs.Diagnostic
		if err := json.Unmarshal(d, &finding); err != nil || finding.Severity != agentdefs.Warning {
			t.Fatalf("%s, %v, want a warning", d, err)
		}
	}
}

// TestAnnounceLive: a change of a file is on the workspace's stream, whatever
// ends first, and the enum has changed with it.
func TestAnnounceLive(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{"aide.md": agentFile()})
	done := make(chan struct{})
	go func() {
		defer close(done)
		taskt.PublishAgents(t.Context(), e.registry, e.bus, nil)
	}()
	changed, stop := iter.Pull(e.OfferChanges(t.Context()))
	defer stop()
	if got := offered(t, e.spec().InputSchema); !slices.Equal(got, []string{"aide", "explore", "general"}) {
		t.Errorf("at first %v", got)
	}
	e.write(t, "second.md", agentFile())
	changed()
	if got := offered(t, e.spec().InputSchema); !slices.Equal(got, []string{"aide", "explore", "general", "second"}) {
		t.Errorf("then %v", got)
	}
	e.registry.Close()
	<-done
	if got := e.announced(t); len(got) != 2 || !slices.Equal(got[1].Added, []string{"second"}) || got[1].Version != 2 {
		t.Errorf("announced %+v, want the first snapshot and the added agent", got)
	}
}

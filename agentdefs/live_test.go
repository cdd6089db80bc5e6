package agentdefs_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; only a failing one gets
// to its end.
const patience = time.Minute

// tb is what the helpers here need of a test, or of a property's run.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// live is an open registry of a workspace, with a reader of its changes.
type live struct {
	tb
	root string
	opts *agentdefs.Options
	*agentdefs.Registry

	next    func() (agentdefs.Change, bool)
	newest  agentdefs.Change
	changes []agentdefs.Change // all but the first
	close   func()
}

func open(t tb, root string, opts *agentdefs.Options) *live {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r, err := agentdefs.Open(ctx, root, opts)
	if err != nil {
		cancel()
		t.Fatalf("opening: %v", err)
	}
	next, stop := iter.Pull(r.Changes(ctx))
	l := &live{tb: t, root: root, opts: opts, Registry: r, next: next, close: func() { stop(); cancel(); r.Close() }}
	l.newest, _ = l.next()
	return l
}

// openT is open with the end of the test.
func openT(t *testing.T, root string, opts *agentdefs.Options) *live {
	t.Helper()
	l := open(t, root, opts)
	t.Cleanup(l.close)
	return l
}

// until waits for a snapshot that satisfies done, which may be the newest.
func (l *live) until(what string, done func(s *agentdefs.Snapshot) bool) *agentdefs.Snapshot {
	l.Helper()
	for !done(l.newest.Snapshot) {
		before := l.newest.Snapshot
		c, ok := l.next()
		if !ok {
			l.Fatalf("waiting until %s: the last snapshot has %v, %v", what, agentdefstest.Names(before.Agents()), before.Diagnostics())
		}
		if c.Snapshot.Version != before.Version+1 {
			l.Fatalf("snapshot %d comes after %d", c.Snapshot.Version, before.Version)
		}
		if difference(before, c.Snapshot) == "" && slices.Equal(before.Diagnostics(), c.Snapshot.Diagnostics()) {
			l.Errorf("snapshot %d is as the one before", c.Snapshot.Version)
		}
		l.check(before, c)
		l.newest = c
		l.changes = append(l.changes, c)
	}
	return l.newest.Snapshot
}

// check compares what a change says with the snapshots.
func (l *live) check(before *agentdefs.Snapshot, c agentdefs.Change) {
	l.Helper()
	var added, changed, removed []string
	for _, d := range c.Snapshot.Agents() {
		if old, ok := before.Agent(d.Name); !ok {
			added = append(added, d.Name)
		} else if !sameDefinition(old, d) {
			changed = append(changed, d.Name)
		}
	}
	for _, d := range before.Agents() {
		if _, ok := c.Snapshot.Agent(d.Name); !ok {
			removed = append(removed, d.Name)
		}
	}
	if !slices.Equal(added, c.Added) || !slices.Equal(changed, c.Changed) || !slices.Equal(removed, c.Removed) {
		l.Errorf("change says added %v, changed %v, removed %v; want %v, %v, %v", c.Added, c.Changed, c.Removed, added, changed, removed)
	}
}

// untilFresh waits for what Load gives now.
func (l *live) untilFresh(after string) *agentdefs.Snapshot {
	l.Helper()
	want, err := agentdefs.Load(l.root, l.opts)
	if err != nil {
		l.Fatalf("after %s: %v", after, err)
	}
	defer func() {
		l.Helper()
		if diff := difference(l.newest.Snapshot, want); diff != "" {
			l.Errorf("after %s: %s", after, diff)
		}
	}()
	return l.until("all is as after "+after, func(s *agentdefs.Snapshot) bool { return difference(s, want) == "" })
}

// difference says how two snapshots differ for a reader; empty means they don't.
func difference(a, b *agentdefs.Snapshot) string {
	switch {
	case a.Dir() != b.Dir():
		return "folder " + a.Dir() + ", want " + b.Dir()
	case !slices.Equal(agentdefstest.Names(a.Agents()), agentdefstest.Names(b.Agents())):
		return "agents differ"
	case !slices.EqualFunc(a.Agents(), b.Agents(), sameDefinition):
		return "definitions differ"
	case !slices.Equal(withoutPolling(a), withoutPolling(b)):
		return "diagnostics differ"
	case !slices.Equal(a.Unserved(), b.Unserved()):
		return "what is not served differs"
	}
	return ""
}

func sameDefinition(a, b *agentdefs.Definition) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Permission, y.Permission = nil, nil
	return reflect.DeepEqual(x, y) && slices.Equal(slices.Collect(a.Permission.Rules()), slices.Collect(b.Permission.Rules()))
}

func withoutPolling(s *agentdefs.Snapshot) []agentdefs.Diagnostic {
	return slices.DeleteFunc(s.Diagnostics(), func(d agentdefs.Diagnostic) bool { return d.Code == "watch-polling" })
}

// agent is a file of an agent with a description and text.
func agent(description, text string) string {
	return "---\ndescription: " + description + "\n---\n" + text + "\n"
}

// put writes a file and the folders it is in.
func put(t tb, file, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o777))
	must(t, os.WriteFile(file, []byte(text), 0o666))
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

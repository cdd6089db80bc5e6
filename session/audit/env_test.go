package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		writer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// openLog returns a log, which a test may close before it ends.
func openLog(t testing.TB, bus *eventbus.Bus, opts audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(t.Context(), bus, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// decision is a record of a call, of which the nth has a text that JSON escapes.
func decision(n int) audit.Record {
	action := permission.Allow
	if n%3 == 0 {
		action = permission.Deny
	}
	value := permission.Value{Tool: "shell_exec", Text: fmt.Sprintf("echo %d \"<&>\" \u2028 \x01", n)}
	return audit.Record{SessionID: "ses_1", RootID: "ses_0", Agent: fmt.Sprint("agent", n%2), ToolCallID: fmt.Sprint("call", n), Tool: "shell_exec"}.
		Decided([]permission.Value{value}, permission.Decision{Action: action, Layer: permission.LayerStatic})
}

func add(t testing.TB, l *audit.Log, records ...audit.Record) {
	t.Helper()
	for _, r := range records {
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func export(t testing.TB, l *audit.Log) []byte {
	t.Helper()
	var all bytes.Buffer
	for line, err := range l.Lines(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(line)
	}
	return all.Bytes()
}

// verify verifies a log, and expects what is wrong with it.
func verify(t testing.TB, l *audit.Log, anchor audit.Head, want ...string) *audit.Report {
	t.Helper()
	report, err := l.Verify(context.WithoutCancel(t.Context()), anchor)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, report, want...)
	return report
}

func expect(t testing.TB, report *audit.Report, want ...string) {
	t.Helper()
	var got []string
	for _, p := range report.Problems {
		got = append(got, p.Text)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("what is wrong: %q, want %q", got, want)
	}
}

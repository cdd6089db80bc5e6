package log_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/log/logtest"
)

// logTime is when the first entry of a log of these tests was stored; each other
// one is a second after the one before it.
var logTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// parseLog reads the entries of a log, one a line: the kind, and its JSON. The
// name of an event has a * before it.
func parseLog(text []byte) (entries []log.Entry) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		kind, data, _ := strings.Cut(lines.Text(), " ")
		if kind == "" || kind == "#" {
			continue
		}
		name, isEvent := strings.CutPrefix(kind, "*")
		if isEvent {
			data = fmt.Sprintf(`{"type":%q%s`, name, strings.Replace(data, "{", ",", 1))
		}
		n := len(entries)
		entries = append(entries, log.Entry{
			Seq: uint64(n + 1), Time: logTime.Add(time.Duration(n) * time.Second), Kind: name, Event: isEvent, Data: json.RawMessage(data),
		})
	}
	return entries
}

// describe renders a state for comparison.
func describe(st *log.State) string {
	var b strings.Builder
	r := st.Record
	at := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprint(int(t.Sub(logTime).Seconds()))
	}
	fmt.Fprintf(&b, "%s agent=%q parent=%q depth=%d model=%q boot=%q\n", r.ID, r.Agent, r.ParentID, r.Depth, r.Model, r.BootID)
	fmt.Fprintf(&b, "%s closed=%t error=%q endedBy=%q steps=%d tokens=%d+%d created=%s started=%s ended=%s\n",
		r.Status, r.Closed, r.Error, r.EndedBy, r.Steps, r.Usage.InputTokens, r.Usage.OutputTokens, at(r.CreatedAt), at(r.StartedAt), at(r.EndedAt))
	for _, m := range st.Messages {
		fmt.Fprintf(&b, "%s %s %s %q", at(m.CreatedAt), m.ID, m.Role, m.Text)
		for _, block := range m.Reasoning {
			fmt.Fprintf(&b, " reasoning %q", block.Text+"/"+block.Signature)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " calls %s %s %s", c.ID, c.Name, c.Arguments)
		}
		for _, res := range m.ToolResults {
			fmt.Fprintf(&b, " result %s %q %t", res.ToolCallID, res.Text, res.IsError)
		}
		b.WriteByte('\n')
	}
	for _, c := range st.Open {
		fmt.Fprintf(&b, "open %s %s\n", c.ID, c.Name)
	}
	if u := st.Unsettled; u != (log.Unsettled{}) || st.Budget != nil {
		fmt.Fprintf(&b, "budget %s tools=%d unsettled calls=%d tokens=%d cost=%d\n", st.Budget, st.ToolCalls, u.ModelCalls, u.Tokens, u.Cost)
	}
	if r.Stalled {
		b.WriteString("stalled\n")
	}
	for _, id := range st.Pending {
		fmt.Fprintf(&b, "pending %s\n", id)
	}
	return b.String()
}

// TestFold: each file in testdata/fold has the entries of a log, followed by the expected
// state. UPDATE=1 writes the states.
func TestFold(t *testing.T) {
	files, err := filepath.Glob("testdata/fold/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			logger, want, _ := bytes.Cut(text, []byte("\n---\n"))
			st, err := log.Fold(slices.Values(parseLog(logger)))
			got := ""
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = describe(st)
			}
			if got == string(want) {
				return
			}
			if os.Getenv("UPDATE") == "" {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			if err := os.WriteFile(file, []byte(string(logger)+"\n---\n"+got), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFoldPrefixes: a log may end anywhere, and its state is legal. The conversation of a
// longer log begins with that of the shorter one.
func TestFoldPrefixes(t *testing.T) {
	files, err := filepath.Glob("testdata/fold/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		logger, _, _ := bytes.Cut(text, []byte("\n---\n"))
		entries := parseLog(logger)
		before := 0
		for n := range len(entries) + 1 {
			st, err := log.Fold(slices.Values(entries[:n]))
			if err != nil {
				break // as of the whole
			}
			logtest.CheckLegal(t, st)
			if len(st.Messages) < before {
				t.Errorf("%s: %d messages after %d entries, %d before", file, len(st.Messages), n, before)
			}
			before = len(st.Messages)
		}
	}
}

// FuzzFold: no log makes it panic, and a log of known events gives a legal state.
func FuzzFold(f *testing.F) {
	files, err := filepath.Glob("testdata/fold/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if st, err := log.Fold(slices.Values(parseLog(text))); err == nil {
			logtest.CheckLegal(t, st)
		}
	})
}

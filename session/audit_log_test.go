package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/tool"
)

// TestAuditTurns: several processes fill the files of one audit log. Each line is
// in one of them, whole, and of many files the newest are kept.
func TestAuditTurns(t *testing.T) {
	const processes, lines = 4, 200
	for _, tt := range []struct {
		max  int64
		all  bool // no file is dropped
		most int  // files
	}{{64 << 10, true, 5}, {1 << 10, false, 5}} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		var writing sync.WaitGroup
		for p := range processes {
			l, err := session.OpenAuditLog(path)
			if err != nil {
				t.Fatal(err)
			}
			session.BoundAudit(l, tt.max)
			writing.Go(func() {
				for n := range lines {
					if err := l.Add(session.AuditEntry{Action: permission.Allow, Layer: permission.LayerStatic, SessionID: fmt.Sprint(p), ToolCallID: fmt.Sprint(n), Reason: strings.Repeat("r", 100)}); err != nil {
						t.Error(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if err := l.Add(session.AuditEntry{Action: permission.Allow, Layer: permission.LayerStatic}); !errors.Is(err, os.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
			})
		}
		writing.Wait()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]int)
		kept := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, ".lock") {
				continue
			}
			if kept++; int64(len(data)) > tt.max+1000 {
				t.Errorf("%s has %d bytes", file, len(data))
			}
			for line := range bytes.Lines(data) {
				var e session.AuditEntry
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatalf("%s: %q: %v", file, line, err)
				}
				seen[e.SessionID+" "+e.ToolCallID]++
			}
		}
		for line, n := range seen {
			if n != 1 {
				t.Errorf("line %s is there %d times", line, n)
			}
		}
		if kept < 2 || kept > tt.most || tt.all && len(seen) != processes*lines {
			t.Errorf("at most %d bytes: %d files, %d lines", tt.max, kept, len(seen))
		}
	}
}

// brokenRules are the last good rules of a file that is broken now.
type brokenRules struct {
	static
	err error
}

func (b *brokenRules) Rules() (*permission.Ruleset, error) { return b.rules, b.err }

// TestBrokenRulesAreSaidOnce: not at each call that they judge.
func TestBrokenRulesAreSaidOnce(t *testing.T) {
	var logged bytes.Buffer
	rules := &brokenRules{err: errors.New("permissions.jsonc:3: broken")}
	rules.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
	e := newEnv(t, turns{calls(call("1", "a", "x"), call("2", "a", "y")), calls(call("3", "a", "z")), say("done")}, func(o *session.Options) {
		o.Static = rules
		o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	})
	run := func() {
		s := e.open(session.Spec{Tools: []tool.Tool{echo("a")}})
		e.end(s, s.Prompt(t.Context(), "go"))
	}
	for i, tt := range []struct {
		err  error
		want int
	}{{rules.err, 1}, {rules.err, 1}, {errors.New("permissions.jsonc:4: broken otherwise"), 2}, {nil, 2}, {rules.err, 3}} {
		rules.err = tt.err
		run()
		if got := strings.Count(logged.String(), "last good permission rules"); got != tt.want {
			t.Errorf("round %d: said %d times, want %d", i, got, tt.want)
		}
	}
	if strings.Count(logged.String(), "in force again") != 1 {
		t.Errorf("that they are good again is not said once:\n%s", &logged)
	}
}

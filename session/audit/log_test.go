package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
)

// TestTurns: several processes fill the files of one audit log. Each line is
// in one of them, whole, and of many files the newest are kept.
func TestTurns(t *testing.T) {
	const processes, lines = 4, 200
	for _, tt := range []struct {
		max  int64
		all  bool // no file is dropped
		most int  // files
	}{{64 << 10, true, 5}, {1 << 10, false, 5}} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		var writing sync.WaitGroup
		for p := range processes {
			l, err := audit.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			audit.Bound(l, tt.max)
			writing.Go(func() {
				for n := range lines {
					if err := l.Add(audit.Entry{Action: permission.Allow, Layer: permission.LayerStatic, SessionID: fmt.Sprint(p), ToolCallID: fmt.Sprint(n), Reason: strings.Repeat("r", 100)}); err != nil {
						t.Error(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				if err := l.Add(audit.Entry{Action: permission.Allow, Layer: permission.LayerStatic}); !errors.Is(err, os.ErrClosed) {
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
				var e audit.Entry
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

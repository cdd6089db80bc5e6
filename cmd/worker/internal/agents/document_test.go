package agents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/agents"
)

// TestSARIF holds what the schema of SARIF 2.1.0 requires of a log: the
// properties that must be there, and values from its lists.
func TestSARIF(t *testing.T) {
	found := []agentdefs.Diagnostic{
		{File: "a b/ü.md", Line: 3, Column: 13, Severity: agentdefs.Error, Code: "permission-invalid", Message: "m", Fix: "f"},
		{File: "/home/u/100%.md", Severity: agentdefs.Warning, Code: "directory-shadowed", Message: "m"},
		{File: "a:b.md", Line: 1, Column: 1, Severity: agentdefs.Information, Code: "body-empty", Message: "m"},
	}
	data, err := json.Marshal(agents.SARIF(found))
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Schema  string `json:"$schema"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID                     string
						ShortDescription, Help struct{ Text string }
						DefaultConfiguration   struct{ Level string }
					}
				}
			}
			ColumnKind string
			Results    []struct {
				RuleID, Level string
				RuleIndex     int
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	levels := []string{"error", "warning", "note"}
	rules := run.Tool.Driver.Rules
	if run.Tool.Driver.Name == "" || run.ColumnKind != "unicodeCodePoints" || len(rules) != len(agentdefs.Codes()) {
		t.Errorf("driver %q, columns %q, %d rules; want %d", run.Tool.Driver.Name, run.ColumnKind, len(rules), len(agentdefs.Codes()))
	}
	for _, r := range rules {
		if r.ID == "" || r.ShortDescription.Text == "" || r.Help.Text == "" || !slices.Contains(levels, r.DefaultConfiguration.Level) {
			t.Errorf("rule %+v", r)
		}
	}
	uris := []string{"a%20b/%C3%BC.md", "file:///home/u/100%25.md", "./a:b.md"}
	if len(run.Results) != len(found) {
		t.Fatalf("%d results, want %d", len(run.Results), len(found))
	}
	for i, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		if r.Level != levels[i] || r.RuleID != found[i].Code || rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" || at.ArtifactLocation.URI != uris[i] {
			t.Errorf("result %+v, want uri %s", r, uris[i])
		}
		if (at.Region != nil) != (found[i].Line > 0) || at.Region != nil && (at.Region.StartLine != found[i].Line || at.Region.StartColumn != found[i].Column) {
			t.Errorf("region %+v of %+v", at.Region, found[i])
		}
	}
	empty, err := json.Marshal(agents.SARIF(nil))
	if err != nil || !strings.Contains(string(empty), `"results":[]`) {
		t.Errorf("nothing found: %s, %v; want an empty list of results", empty, err)
	}
}

func TestWriteGitHub(t *testing.T) {
	for _, tt := range []struct {
		d    agentdefs.Diagnostic
		want string
	}{
		{agentdefs.Diagnostic{File: "a.md", Line: 3, Column: 4, Severity: agentdefs.Error, Code: "c", Message: "100% wrong: a, b", Fix: "do it"},
			"::error file=a.md,line=3,col=4,title=c::100%25 wrong: a, b; do it"},
		{agentdefs.Diagnostic{File: "a,b:c%.md", Severity: agentdefs.Warning, Code: "c", Message: "x\n::error::y\r\x1b[2J"},
			"::warning file=a%2Cb%3Ac%25.md,title=c::x ::error::y[2J"},
		{agentdefs.Diagnostic{File: "a\n::error::.md", Line: 1, Column: 1, Severity: agentdefs.Information, Code: "c", Message: "x"},
			"::notice file=a%0A%3A%3Aerror%3A%3A.md,line=1,col=1,title=c::x"},
		{agentdefs.Diagnostic{File: "a\x1b[2J\x07.md", Severity: agentdefs.Warning, Code: "c", Message: "x"},
			"::warning file=a%1B[2J%07.md,title=c::x"},
	} {
		var out strings.Builder
		err := agents.WriteGitHub(&out, []agentdefs.Diagnostic{tt.d})
		if got := strings.TrimSuffix(out.String(), "\n"); err != nil || got != tt.want {
			t.Errorf("%+v\n got %q, %v\nwant %q", tt.d, got, err, tt.want)
		}
	}
}

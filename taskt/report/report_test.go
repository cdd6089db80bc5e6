package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

const whole = `Some words before.

## Summary
It works.

### a heading within

## CHANGES:
- src/a.go: the limit
- ` + "`made.txt`" + `

**EVIDENCE**
===
See src/a.go:2, src/a.go:900 and (src/none.go:1), also https://localhost:8080 and note:3.
- ` + "`/etc/passwd:1`" + `, ../out.txt:1, secret/s.txt:1, src:1, src/a.go:0

` + "```" + `
## Blockers
` + "```" + `

RISKS: none
that I know

> ## Blockers
> quoted

**BLOCKERS:** no
`

// TestReportInFiveSections (row D7): the sections of an answer, by headings of any
// level and case and by paragraphs; names in code, quotes and lists begin none.
func TestReportInFiveSections(t *testing.T) {
	r := Parse(whole)
	if r == nil {
		t.Fatal("it is no report")
	}
	for name, got := range map[string][2]string{
		"summary":  {r.Summary, "It works.\n\n### a heading within"},
		"changes":  {r.Changes, "- src/a.go: the limit\n- `made.txt`"},
		"risks":    {r.Risks, "none\nthat I know\n\n> ## Blockers\n> quoted"},
		"blockers": {r.Blockers, "no"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", name, got[0], got[1])
		}
	}
	if !strings.HasPrefix(r.Evidence, "See src/a.go:2") || !strings.HasSuffix(r.Evidence, "## Blockers\n```") {
		t.Errorf("evidence: %q", r.Evidence)
	}
	for _, answer := range []string{
		"", "SUMMARY, CHANGES, EVIDENCE", "## Summary\nx\n## Changes\ny\n", "- SUMMARY: x\n- CHANGES: y\n- RISKS: z\n",
		"summary: x\n\nchanges: y\n\nrisks: z\n", "```\n# SUMMARY\n# CHANGES\n# RISKS\n```\n", strings.Repeat("# SUMMARY\n# CHANGES\n# RISKS\n", 1<<16),
	} {
		if r := Parse(answer); r != nil {
			t.Errorf("%.40q is a report: %+v", answer, r)
		}
	}
	if r := Parse("# Risks\n# Changes\n# Summary"); r == nil || *r != (Report{}) {
		t.Errorf("sections without text: %+v", r)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("Summary\n---\n# CHANGES\nRISKS:")
	f.Fuzz(func(t *testing.T, answer string) {
		r := Parse(answer)
		if r == nil {
			return
		}
		for _, section := range []string{r.Summary, r.Changes, r.Evidence, r.Risks, r.Blockers} {
			if !strings.Contains(answer, section) {
				t.Errorf("%q is not in %q", section, answer)
			}
		}
		r.Look(t.TempDir(), func(string) bool { return true })
		Notes(r, new(record.Work))
	})
}

// TestEvidenceIsLookedUp: what an answer names is there, or is marked.
func TestEvidenceIsLookedUp(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"src/a.go": "one\ntwo\nthree", "secret/s.txt": "s\n"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Parse(whole)
	r.Evidence += "\n" + root + "/src/a.go:3"
	var got []string
	for _, e := range r.Look(root, func(path string) bool { return !strings.HasPrefix(path, "secret") }) {
		got = append(got, strings.ReplaceAll(e.Path, root, "ROOT")+" "+e.Why)
	}
	want := []string{
		"src/a.go ", "src/a.go the file has 3 lines", "src/none.go src/none.go: there is no such file or folder", "/etc/passwd it is not in the workspace",
		"../out.txt it is not in the workspace", "secret/s.txt the agent may not read it", "src/a.go the file has 3 lines", "ROOT/src/a.go ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestChangesBesideWhatWasWritten holds CHANGES against the files of the tools.
func TestChangesBesideWhatWasWritten(t *testing.T) {
	r := &Report{Changes: "- ./src/a.go and `b.go`, lib/c.go\n- e.g. v1.2"}
	work := record.Work{Files: []event.FileChange{
		{Path: "src/a.go", Before: "1", After: "2"}, {Path: "src/b.go", After: "2"}, {Path: "back.go", Before: "1", After: "1"}, {Path: "odd\x1b[2J.go", After: "3"},
	}}
	got := strings.Join(Notes(r, &work), "\n")
	want := "CHANGES names what no tool of the agent has written: lib/c.go\nCHANGES does not name what was written: odd�[2J.go"
	if got != want && !strings.Contains(got, "lib/c.go") || strings.Contains(got, "\x1b") || strings.Contains(got, "back.go") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	work.Untold = 1
	if got := strings.Join(Notes(r, &work), "\n"); strings.Contains(got, "lib/c.go") {
		t.Errorf("a command may have written it: %s", got)
	}
	if got := Notes(nil, &record.Work{Idle: true}); len(got) != 1 || got[0] != NoCall {
		t.Errorf("%q", got)
	}
}

// TestLongAnswers: an answer is no report if reading it would take long.
func TestLongAnswers(t *testing.T) {
	sections := "# Summary\n\na\n\n# Changes\n\nb\n\n# Risks\n\n"
	if Parse(sections+strings.Repeat("c", 20<<10)) == nil {
		t.Error("20 KiB are not read")
	}
	if r := Parse(sections + strings.Repeat(">", 1<<20)); r != nil {
		t.Errorf("a nest of 1 MiB is read as %+v", r)
	}
}

package agentdefs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

func TestUnserved(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{
		".claude/agents/a.md":       plain,
		".claude/agents/b.md":       "---\nname: a\ndescription: x\n---\nx",
		".claude/agents/broken.md":  "---\ndescription: x\npermission: never\n---\nx",
		".claude/agents/explore.md": "---\ndisable: true\n---\n",
		".claude/agents/general.md": plain,
		".claude/agents/nodesc.md":  "---\nname: other\n---\nx",
		".claude/agents/off.md":     "---\ndisable: true\n---\n",
		".claude/agents/prose.md":   "# Prose",
		".claude/agents/README.md":  "# Read me",
		".claude/agents/large.md":   strings.Repeat("x", 1<<20+1),
	}, nil)
	var got []string
	for _, u := range s.Unserved() {
		if u.Reason == "" {
			t.Errorf("%+v has no reason", u)
		}
		got = append(got, u.Name+" "+u.File+" "+u.Code)
	}
	want := []string{
		"a .claude/agents/b.md name-duplicate",
		"broken .claude/agents/broken.md permission-invalid",
		"explore .claude/agents/explore.md agent-disabled",
		"explore built-in agent-shadows",
		"general built-in agent-shadows-builtin",
		"large .claude/agents/large.md file-unreadable",
		"nodesc .claude/agents/nodesc.md description-missing",
		"off .claude/agents/off.md agent-disabled",
	}
	if !slices.Equal(got, want) {
		t.Errorf("not served:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFingerprint(t *testing.T) {
	files := map[string]string{
		".agents/agents/a.md": "---\ndescription: A\nhooks: {a: [b]}\npermission: {read_file: {\"~/x\": deny}}\n---\nx",
		".agents/agents/b.md": plain,
	}
	other := func(name, text string) map[string]string {
		out := map[string]string{}
		for n, t := range files {
			out[n] = t
		}
		out[name] = text
		return out
	}
	print := func(files map[string]string, home string) string {
		return agentdefstest.Load(t, files, &agentdefs.Options{Home: home}).Fingerprint()
	}
	one := print(files, "/home/a")
	if len(one) != 64 || one != print(files, "/home/b") {
		t.Errorf("equal files elsewhere: %s and %s, want one SHA-256", one, print(files, "/home/b"))
	}
	for what, changed := range map[string]map[string]string{
		"a prompt":      other(".agents/agents/b.md", plain+"More."),
		"a description": other(".agents/agents/b.md", agent("Other.", "Work well.")),
		"a rule":        other(".agents/agents/a.md", strings.Replace(files[".agents/agents/a.md"], "x\": deny", "x\": ask", 1)),
		"a kept field":  other(".agents/agents/a.md", strings.Replace(files[".agents/agents/a.md"], "[b]", "[c]", 1)),
		"a name":        other(".agents/agents/c.md", plain),
	} {
		if print(changed, "/home/a") == one {
			t.Errorf("%s has changed, and the fingerprint has not", what)
		}
	}
	user := t.TempDir()
	agentdefstest.Write(t, user, map[string]string{"a.md": files[".agents/agents/a.md"], "b.md": plain})
	s, err := agentdefs.Load(t.TempDir(), &agentdefs.Options{UserDir: user, Home: "/home/a"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Fingerprint() != one {
		t.Errorf("the same agents from a folder by its absolute path %s have another fingerprint", filepath.ToSlash(user))
	}
}

func TestResolve(t *testing.T) {
	callable := func(aliases string) string {
		return "---\ndescription: x\naliases: [" + aliases + "]\n---\nx"
	}
	s := agentdefstest.Load(t, map[string]string{
		".agents/agents/Review.md":  callable("check, Straße"),
		".agents/agents/review.md":  callable("look, audit"),
		".agents/agents/Plan.md":    "---\ndescription: x\nmode: primary\naliases: [think]\n---\nx",
		".agents/agents/auditor.md": callable("plan, AUDIT, look, Auditor"),
		".agents/agents/Explore.md": plain,
	}, nil)
	for name, want := range map[string]string{
		"review": "review", "Review": "Review", "REVIEW": "? Review review", "check": "Review", "CHECK": "Review", "STRASSE": "",
		"straße": "Review", "plan": "Plan", "PLAN": "Plan", "think": "", "audit": "auditor", "Audit": "auditor", "look": "auditor",
		"explore": "explore", "Explore": "Explore", "eXplore": "? Explore explore", "GENERAL": "general", "none": "", "": "",
	} {
		d, candidates := s.Resolve(name)
		got := ""
		if d != nil {
			got = d.Name
		}
		if len(candidates) > 0 {
			got += "? " + strings.Join(candidates, " ")
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	var got []string
	for _, d := range s.Diagnostics() {
		if d.Code == "alias-taken" || d.Code == "name-case" {
			got = append(got, d.String())
		}
	}
	want := []string{
		`.agents/agents/Explore.md:2:1: warning: the name "Explore" differs from "explore", of built-in, in upper and lower case or in the form of a letter only (name-case); give one of them another name`,
		`.agents/agents/auditor.md:2:1: warning: the alias "plan" stands for "Plan", of .agents/agents/Plan.md, and not for this agent (alias-taken); choose another alias`,
		`.agents/agents/review.md:2:1: warning: the name "review" differs from "Review", of .agents/agents/Review.md, in upper and lower case or in the form of a letter only (name-case); give one of them another name`,
		`.agents/agents/review.md:2:1: warning: the alias "look" stands for "auditor", of .agents/agents/auditor.md, and not for this agent (alias-taken); choose another alias`,
		`.agents/agents/review.md:2:1: warning: the alias "audit" stands for "auditor", of .agents/agents/auditor.md, and not for this agent (alias-taken); choose another alias`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("diagnostics\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNobodyStandsIn: the name of a file that is refused or switched off is
// nobody else's, by an alias or in another case.
func TestNobodyStandsIn(t *testing.T) {
	files := map[string]string{
		".agents/agents/deploy.md":  "---\ndescription: x\npermission: {\"*\": dney}\n---\nx",
		".agents/agents/General.md": "---\ndescription: x\ndisable: true\n---\nx",
		".agents/agents/other.md":   "---\ndescription: x\naliases: [Deploy, ship]\n---\nx",
	}
	s := agentdefstest.Load(t, files, nil)
	for name, want := range map[string]string{"deploy": "", "DEPLOY": "", "ship": "other", "General": "", "GENERAL": "", "general": "general"} {
		got := ""
		if d, _ := s.Resolve(name); d != nil {
			got = d.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if !slices.Contains(agentdefstest.Codes(s), "alias-taken") {
		t.Errorf("diagnostics %v, want alias-taken", s.Diagnostics())
	}
	delete(files, ".agents/agents/deploy.md")
	if d, _ := agentdefstest.Load(t, files, nil).Resolve("deploy"); d == nil || d.Name != "other" {
		t.Errorf("without the file deploy is %v, want other", d)
	}
}

// TestForms: a name is one in each form that Unicode has for its letters.
func TestForms(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": "---\nname: caf\u00e9\ndescription: x\n---\nx"}, nil)
	if d, _ := s.Resolve("CAFE\u0301"); d == nil {
		t.Error("the other form of the name is not an agent")
	}
	s = agentdefstest.Load(t, map[string]string{
		".agents/agents/a.md": "---\nname: caf\u00e9\ndescription: x\n---\nx",
		".agents/agents/b.md": "---\nname: cafe\u0301\ndescription: x\n---\nx",
	}, nil)
	if !slices.Contains(agentdefstest.Codes(s), "name-case") {
		t.Errorf("diagnostics %v, want name-case", s.Diagnostics())
	}
	if d, _ := s.Resolve("Caf\u00e9"); d != nil {
		t.Errorf("Café is %q, want neither", d.Name)
	}
}

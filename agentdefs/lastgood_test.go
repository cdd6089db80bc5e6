package agentdefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// versions are texts of one file, by what comes of them: "new" is a version to
// serve, "broken" keeps the one before, "gone" has no agent.
var versions = []struct{ name, text, is string }{
	{"first", "---\nname: kept\ndescription: First.\n---\nx", "new"},
	{"second", "---\nname: kept\ndescription: Second.\npermission: {\"*\": deny}\n---\nx", "new"},
	{"permission unclear", "---\nname: kept\ndescription: x\npermission: {shell_exec: never}\n---\nx", "broken"},
	{"other name, refused", "---\nname: other\ndescription: x\npermission: [\n---\nx", "broken"},
	{"not text", "\xff\xfe\x00\xd8\x00\xd8\x01\x02", "broken"},
	{"bytes", "---\nname: kept\n\xff\xff: x\n---\nx", "broken"},
	{"too large", string(make([]byte, 1<<20+1)), "broken"},
	{"description lost in bad YAML", "---\nname: kept\ntools: [\n---\nx", "broken"},
	{"never closed", "---\nname: kept\n", "broken"},
	{"prose", "# Notes\n", "gone"},
	{"empty", "", "broken"},
	{"without description", "---\nname: kept\n---\nx", "gone"},
	{"switched off", "---\nname: kept\ndescription: x\ndisable: true\n---\nx", "gone"},
	{"switched off and refused", "---\nname: kept\ndisable: true\npermission: never\n---\nx", "gone"},
}

// TestStale goes from a good version to each other one, and on to a good one.
func TestStale(t *testing.T) {
	for _, v := range versions[1:] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := filepath.Join(root, ".agents/agents/a.md")
			put(t, file, versions[0].text)
			l := openT(t, root, nil)
			put(t, file, v.text)
			put(t, filepath.Join(root, ".agents/agents/b.md"), agent("B", "b")) // what is fine is not held up
			fresh, err := agentdefs.Load(root, nil)
			must(t, err)
			if v.is != "broken" {
				l.untilFresh(v.name)
			} else {
				s := l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, ok := s.Agent("kept"); return ok && d.Stale })
				d, _ := s.Agent("kept")
				if d.Description != "First." || d.File != ".agents/agents/a.md" {
					t.Errorf("stale definition %+v, want the first version", d)
				}
				var ofFile []string
				for _, d := range s.Diagnostics() {
					if d.File == ".agents/agents/a.md" {
						ofFile = append(ofFile, d.Code)
					}
				}
				want := []string{"agent-stale"}
				for _, d := range fresh.Diagnostics() {
					if d.File == ".agents/agents/a.md" {
						want = append(want, d.Code)
					}
				}
				slices.Sort(ofFile)
				slices.Sort(want)
				if !slices.Equal(ofFile, want) {
					t.Errorf("diagnostics %v, want %v", ofFile, want)
				}
				if c := l.newest; !slices.Equal(c.Changed, []string{"kept"}) {
					t.Errorf("changed %v, want kept, which is stale now", c.Changed)
				}
				put(t, filepath.Join(root, ".agents/agents/c.md"), agent("C", "c"))
				s = l.until("c is there", func(s *agentdefs.Snapshot) bool { _, ok := s.Agent("c"); return ok })
				if again, _ := s.Agent("kept"); again != d {
					t.Error("a stale definition was made anew although its file had not changed")
				}
			}
			put(t, file, versions[1].text)
			s := l.untilFresh("the correction")
			if d, _ := s.Agent("kept"); d == nil || d.Stale || d.Description != "Second." {
				t.Errorf("%+v, want the second version", d)
			}
			must(t, os.Remove(file))
			l.untilFresh("the removal")
		})
	}
}

// TestStaleGivesWay: an agent that was removed on purpose does not come back
// when the file breaks, nor does one that never existed.
func TestStaleGivesWay(t *testing.T) {
	broken := versions[2].text
	for _, v := range versions {
		if v.is != "gone" {
			continue
		}
		root := t.TempDir()
		file := filepath.Join(root, ".agents/agents/a.md")
		put(t, file, versions[0].text)
		l := openT(t, root, nil)
		put(t, file, v.text)
		l.untilFresh(v.name)
		put(t, file, broken)
		l.untilFresh(v.name + ", then broken")
	}
}

// TestStaleKeepsItsPlace: a stale file holds its old name against a second one
// and against a built-in one.
func TestStaleKeepsItsPlace(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, ".agents/agents/a.md"), filepath.Join(root, ".agents/agents/b.md")
	put(t, a, "---\nname: general\ndescription: Mine.\npermission: {\"*\": deny}\n---\nx")
	l := openT(t, root, nil)
	put(t, a, "---\nname: explore\ndescription: Mine.\npermission: {\"*\": never}\n---\nx")
	l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, ok := s.Agent("general"); return ok && d.Stale })
	put(t, b, "---\nname: general\ndescription: Second.\n---\nx")
	s := l.until("b is known", func(s *agentdefs.Snapshot) bool { return slices.Contains(agentdefstest.Codes(s), "name-duplicate") })
	if d, _ := s.Agent("general"); d.Description != "Mine." || d.Shadows != "built-in" || !d.Stale {
		t.Errorf("general is %+v, want the stale one of a.md", d)
	}
	if d, _ := s.Agent("explore"); !d.BuiltIn {
		t.Errorf("explore is %+v, not the built-in one: the name in a broken file does not count", d)
	}
}

// TestHeld: a file that looks half-written is not read yet, and a permission
// without its end never counts.
func TestHeld(t *testing.T) {
	whole := "---\ndescription: A\npermission:\n  \"*\": allow\n  shell_exec: deny\n---\nWork.\n"
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/a.md")
	for end := 0; end < len(whole); end += 3 {
		put(t, file, whole)
		l := open(t, root, nil)
		f, err := os.Create(file)
		must(t, err)
		_, err = f.WriteString(whole[:end])
		must(t, err)
		other := filepath.Join(root, ".agents/agents/b.md")
		put(t, other, agent("B", "Cut:\n"+whole[:end])) // makes a snapshot while a.md is cut
		l.until("b is there", func(s *agentdefs.Snapshot) bool { _, ok := s.Agent("b"); return ok })
		_, err = f.WriteString(whole[end:])
		must(t, err)
		must(t, f.Close())
		l.untilFresh("the rest of the file")
		for _, c := range l.changes {
			if d, ok := c.Snapshot.Agent("a"); ok && !d.Permission.DeniesAll("shell_exec") && !d.Stale {
				t.Errorf("cut at %d: snapshot %d has rules %q, want shell_exec denied", end, c.Snapshot.Version, agentdefstest.Rules(d))
			}
		}
		l.close()
		must(t, os.Remove(other))
	}
}

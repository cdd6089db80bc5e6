package agentdefs_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/agentdefs"
)

// TestAnyChangeEndsInWhatIsThere does things to a workspace at random, some of
// which fail, and waits each time for what a fresh load gives.
func TestAnyChangeEndsInWhatIsThere(t *testing.T) {
	dirs := []string{".agents", ".agents/agents", ".agents/agents/team", ".agents/agents/team/deep", ".claude", ".claude/agents", ".claude/agents/sub", ".claude/agents/sub/deep", "away", "away/v1", "away/v2", "up"}
	files := []string{"a.md", "b.md", "c.agent.md", "notes.txt", ".hidden.md"}
	texts := []string{
		agent("One", "x"), agent("Two", "x"), "---\nname: a\ndescription: Named a.\n---\nx", "---\nname: general\ndescription: x\n---\nx",
		"---\ndescription: x\naliases: [b, explore]\nmode: all\n---\nx", "---\ndisable: true\n---\nx", "---\ndescription: x\npermission: {\"*\": deny}\n---\nx",
	}
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "workspace")
		must(t, err)
		defer os.RemoveAll(root)
		at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
		operations := changes(t, dirs, files, texts, at)
		kinds := rapid.SampledFrom(slices.Sorted(maps.Keys(operations)))
		for range rapid.IntRange(0, 6).Draw(t, "before") {
			operations[kinds.Draw(t, "kind")]()
		}
		l := open(t, root, &agentdefs.Options{UserDir: at("away/v1")})
		defer l.close()
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			what := ""
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 4}).Draw(t, "at once") {
				what += operations[kinds.Draw(t, "kind")]() + ", "
			}
			t.Log(what)
			l.untilFresh(what)
		}
	})
}

// changes are the ways to change a workspace, by name. Each does one to files and
// folders that are drawn, and returns what it did.
func changes(t *rapid.T, dirs, files, texts []string, at func(name string) string) map[string]func() string {
	dir := rapid.SampledFrom(dirs)
	file := rapid.Custom(func(t *rapid.T) string { return dir.Draw(t, "dir") + "/" + rapid.SampledFrom(files).Draw(t, "file") })
	either := rapid.OneOf(dir, file)
	text := rapid.SampledFrom(texts)

	return map[string]func() string{
		"write": func() string {
			name := file.Draw(t, "name")
			_ = os.WriteFile(at(name), []byte(text.Draw(t, "text")), 0o666)
			return "writing " + name
		},
		"write in new folders": func() string {
			name := file.Draw(t, "name")
			_ = os.MkdirAll(filepath.Dir(at(name)), 0o777)
			_ = os.WriteFile(at(name), []byte(text.Draw(t, "text")), 0o666)
			return "writing " + name + " and its folders"
		},
		"replace": func() string {
			name := file.Draw(t, "name")
			_ = os.WriteFile(at(name)+"~", []byte(text.Draw(t, "text")), 0o666)
			_ = os.Rename(at(name)+"~", at(name))
			return "replacing " + name
		},
		"rename": func() string {
			from, to := either.Draw(t, "from"), either.Draw(t, "to")
			_ = os.Rename(at(from), at(to))
			return "renaming " + from + " to " + to
		},
		"there and back": func() string {
			name := either.Draw(t, "name")
			_ = os.Rename(at(name), at("aside"))
			_ = os.Rename(at("aside"), at(name))
			return "renaming " + name + " there and back"
		},
		"remove": func() string {
			name := either.Draw(t, "name")
			_ = os.RemoveAll(at(name))
			return "removing " + name
		},
		"remove and make": func() string {
			name := dir.Draw(t, "name")
			_ = os.RemoveAll(at(name))
			_ = os.MkdirAll(at(name), 0o777)
			return "making " + name + " anew"
		},
		"link": func() string {
			to, name := either.Draw(t, "to"), either.Draw(t, "name")
			rel, err := filepath.Rel(filepath.Dir(at(name)), at(to))
			if err != nil || rapid.Bool().Draw(t, "absolute") {
				rel = at(to)
			}
			_ = os.MkdirAll(filepath.Dir(at(name)), 0o777)
			_ = os.Symlink(rel, at("link"))
			_ = os.Remove(at(name)) // of an empty folder or a file
			_ = os.Rename(at("link"), at(name))
			_ = os.Remove(at("link"))
			return "linking " + name + " to " + to
		},
	}
}

// TestStaleModel takes one file through versions at random and compares with
// what should come of each.
func TestStaleModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "workspace")
		must(t, err)
		defer os.RemoveAll(root)
		file := filepath.Join(root, ".agents/agents/a.md")
		put(t, filepath.Join(root, ".agents/agents/beside.md"), agent("Beside", "x"))
		l := open(t, root, nil)
		defer l.close()
		good := "" // the description in force; empty means none
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			i := rapid.IntRange(0, len(versions)).Draw(t, "version")
			stale := false
			var what string
			if i == len(versions) {
				what, good = "removing it", ""
				must(t, os.RemoveAll(file))
			} else {
				v := versions[i]
				what = v.name
				must(t, os.WriteFile(file+"~", []byte(v.text), 0o666))
				past := time.Now().Add(-time.Hour) // surely written to its end
				must(t, os.Chtimes(file+"~", past, past))
				must(t, os.Rename(file+"~", file))
				switch v.is {
				case "new":
					good = map[string]string{"first": "First.", "second": "Second."}[v.name]
				case "gone":
					good = ""
				case "broken":
					stale = good != ""
				}
			}
			t.Log(what)
			fresh, err := agentdefs.Load(root, nil)
			must(t, err)
			l.until(fmt.Sprintf("%s gives %q, stale %v", what, good, stale), func(s *agentdefs.Snapshot) bool {
				d, ok := s.Agent("kept")
				if good == "" || !stale {
					return difference(s, fresh) == "" && ok == (good != "")
				}
				return ok && d.Description == good && d.Stale && len(withoutPolling(s)) == len(fresh.Diagnostics())+1
			})
		}
	})
}

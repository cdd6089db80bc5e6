package permission

import (
	"errors"
	"fmt"
	"github.com/agentworker/worker/permission/glob"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAllowEditsText(t *testing.T) {
	for _, c := range []struct{ name, before, tool, pattern, want string }{
		{"into the object", "{\n  \"*\": \"ask\",\n  \"shell_exec\": {\n    \"ls\": \"allow\" // looks\n  }\n}\n", "shell_exec", "git *",
			"{\n  \"*\": \"ask\",\n  \"shell_exec\": {\n    \"ls\": \"allow\", // looks\n    \"git *\": \"allow\"\n  }\n}\n"},
		{"trailing commas stay", "{\n  \"shell_exec\": {\n    \"ls\": \"allow\",\n  },\n}\n", "shell_exec", "git *",
			"{\n  \"shell_exec\": {\n    \"ls\": \"allow\",\n    \"git *\": \"allow\",\n  },\n}\n"},
		{"an action becomes a pattern", "{\n  \"shell_exec\": \"ask\",\n}\n", "shell_exec", "git *",
			"{\n  \"shell_exec\": {\n    \"*\": \"ask\",\n    \"git *\": \"allow\",\n  },\n}\n"},
		{"a later glob counts more", "{\n  \"shell_exec\": {\"ls\": \"allow\"},\n  \"*\": \"ask\" // all\n}", "shell_exec", "git *",
			"{\n  \"shell_exec\": {\"ls\": \"allow\"},\n  \"*\": \"ask\", // all\n  \"shell_exec\": {\n    \"git *\": \"allow\"\n  }\n}"},
		{"one line", `{"shell_exec": {"ls": "allow"}}`, "shell_exec", "git *", `{"shell_exec": {"ls": "allow", "git *": "allow"}}`},
		{"empty", `{}`, "shell_exec", "ls", "{\"shell_exec\": {\n    \"ls\": \"allow\"\n  }}"},
		{"pairs", `[["shell_exec",[["ls","ask"]]]]`, "shell_exec", "ls", `[["shell_exec",[["ls","ask"], ["ls", "allow"]]]]`},
		{"there already", `{"shell_exec": {"ls": "allow"}}`, "shell_exec", "ls", `{"shell_exec": {"ls": "allow"}}`},
		{"all allowed already", `{"shell_exec": "allow"}`, "shell_exec", "ls", `{"shell_exec": "allow"}`},
		{"denied since", `{"shell_exec": {"ls": "allow", "l*": "deny"}}`, "shell_exec", "ls",
			`{"shell_exec": {"ls": "allow", "l*": "deny"}}`},
		{"line ends of Windows", "{\r\n\t\"a\": \"ask\"\r\n}\r\n", "b", "x", "{\r\n\t\"a\": \"ask\",\r\n\t\"b\": {\r\n\t\t\"x\": \"allow\"\r\n\t}\r\n}\r\n"},
	} {
		got, err := allowJSON([]byte(c.before), "permissions.jsonc", c.tool, []string{c.pattern})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if string(got) != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func openTemp(t *testing.T) (*File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "permissions.jsonc")
	f, err := OpenFile(path, "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func decideWith(r *Ruleset, tool, text string) Action {
	return (&Layers{Static: r}).Decide([]Value{{Tool: tool, Text: text}}).Action
}

func TestSeed(t *testing.T) {
	f, path := openTemp(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v, want 0600", info, err)
	}
	rules, err := f.Rules()
	if err != nil || rules.Len() != 0 {
		t.Errorf("a new file has %d rules, %v; want only comments", rules.Len(), err)
	}
}

func TestFileAllow(t *testing.T) {
	f, path := openTemp(t)
	if err := f.Allow("shell_exec", []string{"git push *", "ls"}); err != nil {
		t.Fatal(err)
	}
	rules, err := f.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Action{"git push origin": Allow, "ls": Allow, "rm x": Ask} {
		if got := decideWith(rules, "shell_exec", text); got != want {
			t.Errorf("%q after Allow: got %v, want %v", text, got, want)
		}
	}
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), "// What you decide about") {
		t.Errorf("the comments are gone:\n%s", text)
	}
	if err := f.Allow("shell_exec", []string{"[z-a]"}); err == nil {
		t.Error("a pattern that cannot be compiled was written")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode after Allow: %v, want 0600", info.Mode())
	}
}

func TestFileSeesEditsAndKeepsGoodRules(t *testing.T) {
	f, path := openTemp(t)
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"a": "allow"}`)
	if r, err := f.Rules(); err != nil || decideWith(r, "a", "x") != Allow {
		t.Fatalf("after an edit: %v, %v", r, err)
	}
	write("{\"a\": \"deny\",\n  \"b\": \"alow\"}")
	r, err := f.Rules()
	var se *SyntaxError
	if !errors.As(err, &se) || se.Source.Line != 2 || !strings.Contains(err.Error(), `unknown action "alow"`) {
		t.Errorf("broken file: got %v, want line 2 and the action", err)
	}
	if decideWith(r, "a", "x") != Allow {
		t.Error("the last good rules are not in force")
	}
	if err := f.Allow("a", []string{"x"}); err == nil {
		t.Error("Allow changed a broken file")
	}
	if _, err := OpenFile(path, ""); err == nil {
		t.Error("OpenFile opened a broken file")
	}
	os.Remove(path)
	if r, err := f.Rules(); err == nil || decideWith(r, "a", "x") != Allow {
		t.Errorf("file gone: got %v, want an error and the last good rules", err)
	}
	write(`{"a": "deny"}`)
	if r, err := f.Rules(); err != nil || decideWith(r, "a", "x") != Deny {
		t.Errorf("file back: %v, want the new rules", err)
	}
}

// Two that add at once lose nothing: each has its own File, as two processes.
func TestFileAllowFromManySides(t *testing.T) {
	_, path := openTemp(t)
	var wg sync.WaitGroup
	names := strings.Split("abcdefghijklmnop", "")
	for _, name := range names {
		wg.Go(func() {
			f, err := OpenFile(path, "")
			if err == nil {
				err = f.Allow("shell_exec", []string{name})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	f, err := OpenFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := f.Rules()
	for _, name := range names {
		if decideWith(rules, "shell_exec", name) != Allow {
			t.Errorf("the rule for %q is lost", name)
		}
	}
}

// However an edit hides, the next call sees it.
func TestFileSeesEveryEdit(t *testing.T) {
	const before, after = `{"a": "allow"}`, `{"a": "ask"  }` // of one size
	old := time.Now().Add(-time.Hour)
	write := func(t *testing.T, path, text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, edit := range map[string]func(t *testing.T, path string){
		"the same size and time": func(t *testing.T, path string) { write(t, path, after, old) },
		"another with an older time": func(t *testing.T, path string) {
			write(t, path+".new", after, old.Add(-time.Hour))
			rename(t, path+".new", path)
		},
		"another of the same time": func(t *testing.T, path string) { write(t, path+".new", after, old); rename(t, path+".new", path) },
		"a time to come":           func(t *testing.T, path string) { write(t, path, after, time.Now().Add(time.Hour)) },
		"a symlink": func(t *testing.T, path string) {
			write(t, path+".elsewhere", after, old)
			if err := os.Symlink(path+".elsewhere", path+".link"); err != nil {
				t.Fatal(err)
			}
			rename(t, path+".link", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, path := openTemp(t)
			write(t, path, before, old)
			for range 2 {
				if r, err := f.Rules(); err != nil || decideWith(r, "a", "x") != Allow {
					t.Fatalf("before: %v", err)
				}
			}
			f.settled = true // as if it had been read long after it was written
			edit(t, path)
			if r, err := f.Rules(); err != nil || decideWith(r, "a", "x") != Ask {
				t.Errorf("the edit was not seen (%v)", err)
			}
		})
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// Two processes that answer "always" at once lose nothing, nor what else the
// file says.
func TestFileAllowByProcesses(t *testing.T) {
	if path := os.Getenv("PERMISSION_TEST_FILE"); path != "" { // this is one of them
		f, err := OpenFile(path, "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if err := f.Allow("shell_exec", []string{fmt.Sprintf("%s %d", os.Getenv("PERMISSION_TEST_NAME"), i)}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	f, path := openTemp(t)
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFileAllowByProcesses$")
			cmd.Env = append(os.Environ(), "PERMISSION_TEST_FILE="+path, "PERMISSION_TEST_NAME="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	wg.Wait()
	r, err := f.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		for _, name := range []string{"one", "two"} {
			if text := fmt.Sprintf("%s %d", name, i); decideWith(r, "shell_exec", text) != Allow {
				t.Errorf("the rule for %q is lost", text)
			}
		}
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "// What you decide about") {
		t.Errorf("the comments are gone (%v):\n%s", err, text)
	}
}

// Whatever the file, an edit leaves it readable, allows what it says, and
// changes nothing about anything else.
func FuzzAllow(f *testing.F) {
	f.Add(string(DefaultsText), "shell_exec", "git *")
	f.Add(`{"a":"ask"/* x */,}`, "a", "b")
	f.Add("[[\"a\",[[\"b\",\"deny\"]]] // c\n]", "a", "b")
	f.Add("{\n// only\n}", "t", "x")
	f.Add("{\"a\": {\n}}", "a", "x")
	f.Fuzz(func(t *testing.T, text, tool, pattern string) {
		before, err := ParseJSON([]byte(text), "f", nil)
		if err != nil {
			return
		}
		if _, err := NewRuleset(Rule{Tool: glob.Quote(tool), Pattern: pattern, Action: Allow}); err != nil || tool == "" {
			return
		}
		edited, err := allowJSON([]byte(text), "f", tool, []string{pattern})
		if errors.Is(err, errDenied) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		after, err := ParseJSON(edited, "f", nil)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, edited, err)
		}
		v := Value{Tool: tool, Text: normalise(pattern)}
		if strings.HasPrefix(pattern, "~/") || strings.HasPrefix(pattern, "$HOME/") || strings.HasPrefix(pattern, "!") {
			return
		}
		if c := before.last(&v); c != nil && c.Action == Deny {
			if c := after.last(&v); c == nil || c.Action != Deny {
				t.Errorf("%q became %q, which lifts the deny of %q", text, edited, pattern)
			}
		} else if lifted, err := before.Lifted(tool, pattern); err != nil || len(lifted) > 0 {
			// the new rule stands before these, and maybe before some that ask
		} else if c := after.last(&v); c == nil || c.Action != Allow {
			t.Errorf("%q became %q, which does not allow %q", text, edited, pattern)
		}
		other := Value{Tool: tool + "x", Text: "y"}
		b, a := before.last(&other), after.last(&other)
		if (b == nil) != (a == nil) || b != nil && b.Action != a.Action {
			t.Errorf("%q became %q, which decides another tool otherwise", text, edited)
		}
	})
}

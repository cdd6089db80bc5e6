//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// write writes a file that others may not write, whatever the umask is.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// place is a folder that others may not write, whatever the umask is.
func adminFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "etc")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func says(t *testing.T, s *Store, want string) {
	t.Helper()
	if _, err := s.Current(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func decides(t *testing.T, s *Store, text string) permission.Action {
	t.Helper()
	p, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	l := permission.Layers{Policies: p.Rules(permission.Who{}), Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}
	return l.Decide([]permission.Value{{Tool: "shell_exec", Text: text}}).Action
}

// A change counts for the next decision; what is broken, gone or open to others stops
// everything until it is put right.
func TestStoreIsReadEachTime(t *testing.T) {
	dir := adminFolder(t)
	file := write(t, filepath.Join(dir, "p.jsonc"), `{"rules": {"shell_exec": {"rm *": "deny"}}}`)
	s, err := open(filepath.Join(dir, "none"), file)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := s.Current()
	if again, _ := s.Current(); again != first {
		t.Error("the same text is compiled twice")
	}
	if decides(t, s, "rm x") != permission.Deny || decides(t, s, "ls") != permission.Allow {
		t.Error("the rules are not those of the file")
	}
	write(t, file, `{"rules": {"shell_exec": {"ls": "deny"}}, "always": false}`)
	if decides(t, s, "ls") != permission.Deny {
		t.Error("a change does not count")
	}
	if now, _ := s.Current(); now.Hash() == first.Hash() || now.Lasting() == nil || !strings.Contains(now.Lasting().Error(), "p.jsonc:1") {
		t.Errorf("hash %s, lasting %v", now.Hash(), now.Lasting())
	}
	write(t, file, `{"rules": {"shell_exec": {"ls": "de`)
	says(t, s, "p.jsonc:1")
	write(t, file, ``)
	says(t, s, "p.jsonc")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	says(t, s, "no such file")
	write(t, file, `{"rules": {"shell_exec": {"rm *": "deny"}}}`)
	if decides(t, s, "rm x") != permission.Deny {
		t.Error("put back, it does not hold")
	}
	for _, path := range []string{file, dir} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, before.Mode().Perm()|0o020); err != nil {
			t.Fatal(err)
		}
		says(t, s, path+" may be written by others")
		if err := os.Chmod(path, before.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	// A link leads on to what has to be an administrator's, too.
	elsewhere := write(t, filepath.Join(dir, "open", "p.jsonc"), `{}`)
	if err := os.Chmod(filepath.Dir(elsewhere), 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.jsonc")
	if err := os.Symlink("open/p.jsonc", link); err != nil {
		t.Fatal(err)
	}
	if _, err := open(filepath.Join(dir, "none"), link); err == nil || !strings.Contains(err.Error(), "open may be written by others") {
		t.Errorf("a link to where others write: %v", err)
	}
	if s, err := open(filepath.Join(dir, "none"), ""); err != nil {
		t.Error(err)
	} else if p, err := s.Current(); p != nil || err != nil || p.Hash() != "" || p.Rules(permission.Who{}) != nil || p.Lasting() != nil {
		t.Errorf("without a policy: %v, %v", p, err)
	}
}

// The machine's own files: the main one first, then the drop-ins by name. The
// user of this test may not be root: then the files are refused.
func TestStoreOfTheMachine(t *testing.T) {
	dir := adminFolder(t)
	write(t, filepath.Join(dir, "policy.jsonc"), `{"rules": {"shell_exec": {"*": "ask"}}}`)
	second := write(t, filepath.Join(dir, "policy.d", "20.jsonc"), `{"rules": {"shell_exec": {"*": "allow"}}}`)
	write(t, filepath.Join(dir, "policy.d", "10.jsonc"), `{"rules": {"shell_exec": {"rm *": "deny"}}}`)
	if err := os.Chmod(filepath.Join(dir, "policy.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := open(dir, "")
	if os.Geteuid() != 0 {
		if err == nil || !strings.Contains(err.Error(), "chown root") {
			t.Errorf("files of somebody else: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	p, _ := s.Current()
	var names []string
	for _, f := range p.Files() {
		names = append(names, filepath.Base(f.Path))
	}
	if got := strings.Join(names, " "); got != "policy.jsonc 10.jsonc 20.jsonc" {
		t.Error(got)
	}
	if decides(t, s, "rm x") != permission.Deny || decides(t, s, "ls") != permission.Ask {
		t.Error("a later file lifts what an earlier one forbids")
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	says(t, s, "20.jsonc has held, and is gone")
	write(t, second, `{}`)
	write(t, filepath.Join(dir, "policy.d", "30.json"), `{}`)
	says(t, s, "30.json is not read")
}

// The least bound of all files counts.
func TestBounds(t *testing.T) {
	p, err := New(File{Path: "a", text: []byte(`{"limits": {"maxDepth": 2, "maxChildren": 4}}`)},
		File{Path: "b", text: []byte(`{"limits": {"maxDepth": 3, "maxChildren": 3}, "sandbox": "required"}`)}, File{Path: "c", text: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if depth, children := p.Bound("maxDepth"), p.Bound("maxChildren"); depth.Most != 2 || depth.Source.File != "a" || children.Most != 3 || children.Source.File != "b" {
		t.Errorf("%+v, %+v", depth, children)
	}
	if p.Sandboxed().File != "b" || p.Bound("maxPerParent").Most != 0 || (*Policy)(nil).Bound("maxDepth").Most != 0 || len(p.Narrows()) != 3 {
		t.Errorf("%q", p.Narrows())
	}
}

// What a list does not have is forbidden, and each file's list counts.
func TestLists(t *testing.T) {
	p, err := New(File{Path: "a", text: []byte("{\"models\": [\"anthropic/*\", \"offline\"],\n \"doors\": [\"mcp\", \"http\"], \"providers\": [\"https://api.anthropic.com\"]}")},
		File{Path: "b", text: []byte(`{"models": ["*/claude-haiku*", "offline"], "agentFolders": ["workspace", "/srv/**"], "budget": {"tokens": 1000}}`)},
		File{Path: "c", text: []byte(`{"budget": "cost=1.5", "limits": {"maxTimeoutSeconds": 60}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind Kind
		name string
		want string // empty means it is allowed
	}{
		{Models, "anthropic/claude-haiku-5-5", ""},
		{Models, "offline", ""},
		{Models, "anthropic/claude-opus-5-5", `the policy allows no model "anthropic/claude-opus-5-5" (b:1: models is */claude-haiku*, offline)`},
		{Models, "host", "(a:1: models is anthropic/*, offline)"},
		{Providers, "https://api.anthropic.com", ""},
		{Providers, "https://api.anthropic.com.evil.example", "(a:2: providers is"},
		{Doors, DoorMCP, ""},
		{Doors, DoorTLS, `no door "tls" (a:2`},
		{AgentFolders, Workspace, ""},
		{AgentFolders, "/srv/agents/x", ""},
		{AgentFolders, User, "(b:1"},
	} {
		if err := p.Allows(c.kind, c.name); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.kind, c.name, err, c.want)
		}
	}
	if err := p.CheckFolders(nil); err != nil {
		t.Error(err)
	}
	if n := len(p.Budgets()); n != 2 || p.Budgets()[1].Limits.Cost == 0 || p.Bound(MaxTimeoutSeconds).Most != 60 {
		t.Errorf("%+v", p.Budgets())
	}
	if lines := strings.Join(p.Narrows(), "\n"); !strings.Contains(lines, "doors: none but mcp, http (a:2)") || !strings.Contains(lines, "at most cost=1.5 (c:1)") {
		t.Error(lines)
	}
	if (*Policy)(nil).Allows(Models, "x") != nil {
		t.Error("no policy forbids a model")
	}
	odd, err := New(File{Path: "p", text: []byte(`{"agentFolders": ["workspac"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := odd.CheckFolders([]string{"claude"}); err == nil || !strings.Contains(err.Error(), `p:1:19: agentFolders: unknown name "workspac" (did you mean "workspace"?)`) {
		t.Error(err)
	}
}

// What takes a second person is asked about, too, and an exception from it is not.
func TestSecondPerson(t *testing.T) {
	p, err := New(File{Path: "a", text: []byte(`{"rules": {"read_file": {"*.pem": "ask"}},
 "secondPerson": {"shell_exec": {"git push *": "ask", "git push origin feature/*": "allow"}, "agents": {"deployer": {"*": "ask"}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		agent, tool, text string
		action, second    permission.Action
	}{
		{"", "read_file", "x.pem", permission.Ask, permission.Allow},
		{"", "shell_exec", "git push origin main", permission.Ask, permission.Deny},
		{"", "shell_exec", "git push origin feature/x", permission.Allow, permission.Allow},
		{"deployer", "write_file", "x", permission.Ask, permission.Deny},
	} {
		who, values := permission.Who{Agent: tt.agent}, []permission.Value{{Tool: tt.tool, Text: tt.text}}
		free := permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
		for i, policies := range [][]*permission.Ruleset{p.Rules(who), p.SecondPerson(who)} {
			l := permission.Layers{Policies: policies, Static: free}
			if got, want := l.Decide(values).Action, []permission.Action{tt.action, tt.second}[i]; got != want {
				t.Errorf("%+v, rules %d: %v, want %v", tt, i, got, want)
			}
		}
	}
	if lines := strings.Join(p.Narrows(), "\n"); strings.Count(lines, "a second person has to approve it") != 2 || len((*Policy)(nil).SecondPerson(permission.Who{})) > 0 {
		t.Error(lines)
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	for text, want := range map[string]string{
		`{"secondPerson": {"x": "deny"}}`:  `p:1:19: secondPerson: x`,
		"{\n  \"rule\": {}\n}":             `p:2:3: unknown key "rule" (did you mean "rules"?)`,
		"{\"rules\": {},\n \"rules\": {}}": `p:2:2: "rules" is given twice`,
		"[]":                               `p:1:1: want an object`,
		"{\n \"rules\": {\n  \"a\": {\n   \"x\": \"denny\"}}}": `p:4:9: unknown action "denny"`,
		`{"limits": {"maxdepth": 1}}`:                          `p:1:13: limits: unknown key "maxdepth"`,
		`{"limits": {"maxDepth": 0}}`:                          `p:1:25: limits: maxDepth: want a whole number from 1`,
		`{"models": "x"}`:                                      `p:1:12: models: want a list`,
		`{"models": ["!x"]}`:                                   `p:1:13: models: want a text that names what is allowed`,
		`{"doors": ["htp"]}`:                                   `p:1:12: doors: unknown door "htp" (did you mean "http"?)`,
		`{"budget": {"token": 1}}`:                             `p:1:12: budget: unknown name "token"`,
		`{"budget": {"tokens": 1, "then": "ask"}}`:             `p:1:12: budget: then: nobody can lift`,
		`{"budget": {"tokens": 1, "tokens": 9}}`:               `p:1:26: "tokens" is given twice`,
		`{"limits": {"maxDepth": 1, "maxDepth": 5}}`:           `p:1:28: "maxDepth" is given twice`,
		`{"budget": {}}`:                                       `p:1:12: budget: it limits nothing`,
		`{"sandbox": "off"}`:                                   `p:1:13: sandbox: want "required"`,
		"{\"always\": 1}":                                      `p:1:12: always: want true or false`,
		"{\"rules\": []\n":                                     `p:2:1: `,
	} {
		if _, err := New(File{Path: "p", text: []byte(text)}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var server = serverCommand{Command: "worker", Args: []string{"mcp", "--timeout", "10m"}}

// folders returns folders of their own, with files in its home folder.
func folders(t testing.TB, files map[string]string) hostFolders {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := hostFolders{Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Getenv: func(string) string { return "" }}
	for _, dir := range []string{p.Home, p.Project} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(t, filepath.Join(p.Home, name), text)
	}
	return p
}

func write(t testing.TB, file, text string) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// TestInstall: a host's file is made and changed, and after the removal it has its old
// content.
func TestInstall(t *testing.T) {
	for _, tt := range []struct{ host, file, before, after string }{
		{"claude", ".claude.json", "", "{\n  \"mcpServers\": {\n    \"worker\": {\"command\": \"worker\", \"args\": [\"mcp\", \"--timeout\", \"10m\"]}\n  }\n}\n"},
		{"cursor", ".cursor/mcp.json", "{\r\n\t\"mcpServers\": { // ours\r\n\t\t\"a\": {}\r\n\t}\r\n}", "{\r\n\t\"mcpServers\": { // ours\r\n\t\t\"worker\": {\"command\": \"worker\", \"args\": [\"mcp\", \"--timeout\", \"10m\"]},\r\n\t\t\"a\": {}\r\n\t}\r\n}"},
		{"opencode", ".config/opencode/opencode.jsonc", "{\n  // the theme\n  \"theme\": \"x\", /* and */\n}\n", "{\n  \"mcp\": {\n    \"worker\": {\"type\": \"local\", \"command\": [\"worker\", \"mcp\", \"--timeout\", \"10m\"], \"enabled\": true}\n  },\n  // the theme\n  \"theme\": \"x\", /* and */\n}\n"},
		{"gemini", ".gemini/settings.json", `{"mcpServers":{"a":1},"b":2}`, `{"mcpServers":{"worker": {"command": "worker", "args": ["mcp", "--timeout", "10m"]},"a":1},"b":2}`},
		{"codex", ".codex/config.toml", "model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"", "model = \"x\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.worker]\ncommand = \"worker\"\nargs = [\"mcp\", \"--timeout\", \"10m\"]\n"},
	} {
		p := folders(t, map[string]string{tt.file: tt.before})
		file := filepath.Join(p.Home, tt.file)
		if tt.before == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		h := findHost(tt.host)
		c, err := h.Install(p, false, "worker", server)
		if err != nil || c.Nothing() || !strings.Contains(c.Diff(), "+++ "+file) {
			t.Fatalf("%s: %v, %+v", tt.host, err, c)
		}
		if err := c.Write(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); string(got) != tt.after {
			t.Errorf("%s: got\n%s\nwant\n%s (%v)", tt.host, got, tt.after, err)
		}
		if info, err := os.Stat(file); err != nil || tt.before != "" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v %v", tt.host, info.Mode(), err)
		}
		if has, err := h.Has(p, false, "worker"); !has {
			t.Errorf("%s: the entry is not found (%v)", tt.host, err)
		}
		if again, err := h.Install(p, false, "worker", server); err != nil || !again.Nothing() {
			t.Errorf("%s: a second time: %v\n%s", tt.host, err, again.Diff())
		}
		if _, err := h.Install(p, false, "worker", serverCommand{Command: "other", Args: []string{"mcp"}}); err == nil || !strings.Contains(err.Error(), "something else") {
			t.Errorf("%s: another server under the name: %v", tt.host, err)
		}
		out, err := h.Remove(p, false, "worker")
		if err != nil || string(out.text) != tt.before && tt.before != "" && strings.TrimSuffix(string(out.text), "\n") != tt.before && tt.host != "opencode" {
			t.Errorf("%s: %v, left\n%s", tt.host, err, out.text)
		}
		write(t, file, tt.before+" ")
		if err := out.Write(); err == nil || !strings.Contains(err.Error(), "meanwhile") {
			t.Errorf("%s: written over another's change: %v", tt.host, err)
		}
	}
}

// TestRefuse: what cannot be read without a doubt is not written.
func TestRefuse(t *testing.T) {
	for _, tt := range []struct{ host, file, text, want string }{
		{"claude", ".claude.json", "{", "nothing was written"},
		{"claude", ".claude.json", "[]", "no JSON object"},
		{"claude", ".claude.json", "\ufeff{}", "nothing was written"},
		{"claude", ".claude.json", `{"mcpServers": []}`, "no object"},
		{"claude", ".claude.json", `{"mcpServers": {}, "mcpServers": {"a": 1}}`, "twice"},
		{"codex", ".codex/config.toml", "mcp_servers = {a = {command = \"a\"}}\n", "by hand"},
		{"codex", ".codex/config.toml", "a = \"\"\"\n", "nothing was written"},
		{"codex", ".codex/config.toml", "mcp_servers = 1\n", "by hand"},
	} {
		p := folders(t, map[string]string{tt.file: tt.text})
		if c, err := findHost(tt.host).Install(p, false, "worker", server); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %q: %v, %+v", tt.host, tt.text, err, c)
		}
	}
	p := folders(t, map[string]string{"other.json": "{}"})
	if _, err := findHost("codex").Install(p, true, "worker", server); err == nil {
		t.Error("Codex has a file of the project")
	}
	if _, err := findHost("claude").Install(p, false, "a.b", server); err == nil {
		t.Error("a name with a dot is taken")
	}
	for _, link := range []string{filepath.Join(p.Home, "other.json"), filepath.Join(p.Project, "missing")} {
		file := filepath.Join(p.Project, ".mcp.json")
		if err := os.Symlink(link, file); err != nil {
			t.Fatal(err)
		}
		if _, err := findHost("claude").Install(p, true, "worker", server); err == nil {
			t.Errorf("a link of the project to %s is followed", link)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	// A link of the user's own stays, and what it leads to is written.
	if err := os.Symlink("other.json", filepath.Join(p.Home, ".claude.json")); err != nil {
		t.Fatal(err)
	}
	c, err := findHost("claude").Install(p, false, "worker", server)
	if err == nil {
		err = c.Write()
	}
	text, _ := os.ReadFile(filepath.Join(p.Home, "other.json"))
	if info, lerr := os.Lstat(c.File); err != nil || lerr != nil || info.Mode().Type() != os.ModeSymlink || !strings.Contains(string(text), `"worker"`) {
		t.Errorf("%v, %v, %v: %s", err, lerr, info, text)
	}
}

// TestOthersStay: of any file, all bytes stay, and what is added is taken out again without a trace.
func TestOthersStay(t *testing.T) {
	p := folders(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		blank := func() string {
			return rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\r\n\t", " // a } comment {\n", "/* [ */", "\n/* a\n b */ "}).Draw(t, "blank")
		}
		var value func(depth int) string
		object := func(depth int, members []string) string {
			text := "{"
			for i, m := range members {
				if text += blank() + m + blank(); i < len(members)-1 || rapid.Bool().Draw(t, "comma") {
					text += ","
				}
			}
			return text + blank() + "}"
		}
		members := func(depth int, keys []string) (all []string) {
			for _, key := range keys {
				all = append(all, jsonText(key)+blank()+":"+blank()+value(depth))
			}
			return all
		}
		keys := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "mcpServer", "é\"", "z", "command", "worker2"}), 0, 4, rapid.ID[string]).Draw(t, label)
		}
		value = func(depth int) string {
			if depth > 0 && rapid.Bool().Draw(t, "object") {
				return object(depth, members(depth-1, keys("keys")))
			}
			return rapid.SampledFrom([]string{`"x // y"`, "1e3", "null", `[1, "}",]`, "true"}).Draw(t, "value")
		}
		all := members(2, keys("keys"))
		servers := rapid.Bool().Draw(t, "servers")
		inside := servers && rapid.Bool().Draw(t, "inside")
		if servers {
			var held []string
			if inside {
				held = members(1, []string{"first"})
			}
			at := rapid.IntRange(0, len(all)).Draw(t, "at")
			all = append(all[:at:at], append([]string{`"mcpServers":` + object(1, held)}, all[at:]...)...)
		}
		before := blank() + object(2, all) + blank()
		if strings.HasSuffix(strings.TrimRight(before, " "), "comment {") {
			before += "\n"
		}
		h, file := findHost("claude"), filepath.Join(p.Home, ".claude.json")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := h.Install(p, false, "worker", server)
		if err != nil {
			t.Fatalf("%q: %v", before, err)
		}
		after := string(c.text)
		same := 0
		for same < len(before) && before[same] == after[same] {
			same++
		}
		if added := len(after) - len(before); added <= 0 || after[same+added:] != before[same:] {
			t.Fatalf("before %q\nafter  %q", before, after)
		}
		if err := c.Write(); err != nil {
			t.Fatal(err)
		}
		out, err := h.Remove(p, false, "worker")
		if err != nil {
			t.Fatalf("%q: taking out: %v", after, err)
		}
		if inside && string(out.text) != before {
			t.Fatalf("before %q\nat last %q", before, out.text)
		}
	})
}

package permission

import "testing"

// TestDefaultSecrets holds which files are secrets by default, and that source code is none.
func TestDefaultSecrets(t *testing.T) {
	l := Layers{Defaults: Defaults()}
	for want, names := range map[Action][]string{
		Deny: {
			".env", "app/.env", "prod.env", ".env.local", "app/.env.production", ".netrc", "home/.netrc", ".git-credentials", ".pgpass",
			"credentials", ".aws/credentials", "secrets", "id_rsa", "keys/id_ed25519", "secrets.yml", "config/secrets.yml", "config/secrets.yml.enc",
			"client_secret_12.json", "k8s/my-secret.yaml", "credentials.json", "aws-credentials.csv", "config/credentials.yml.enc", "store.p12", "a/b.pfx", "pass.kdbx",
		},
		Allow: {
			"secrets.go", "internal/secrets/scan.go", "credentials_test.py", "src/CredentialStore.java", "secret.ts", "docs/secrets.md", "secretary.html",
			".env.example", "app/.env.sample", ".env.template", "environment.ts", "vite-env.d.ts", "src/process.env.ts", ".envrc", "config/settings.yml", ".npmrc",
			"cmd/credentials/main.go", "id_rsa.pub", "tests/test_secret.rs", "package.json", "testdata/server.pem", "credentials.tf", "secret/README.md",
		},
	} {
		for _, name := range names {
			if d := l.Decide([]Value{{Tool: "read_file", Text: name, Abs: "/w/" + name}}); d.Action != want || d.Layer != LayerDefault {
				t.Errorf("%s: %v by %s (%v)", name, d.Action, d.Layer, d.Rule)
			}
		}
	}
}

// TestDefaultsBelow holds that a default counts where no person has said anything, and the
// stricter of it and the agent's rule then.
func TestDefaultsBelow(t *testing.T) {
	parse := func(text string) *Ruleset {
		if text == "" {
			return nil
		}
		r, err := ParseJSON([]byte(text), "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		agent, static, runtime string
		tool, value            string
		want                   Action
		by                     Layer
	}{
		{"", "", "", "read_file", "a.go", Allow, LayerDefault},
		{"", "", "", "shell_exec", "ls", Ask, LayerDefault},
		{"", "", "", "mcp_x", "{}", Ask, LayerDefault},
		{`{"read_file": "ask"}`, "", "", "read_file", "a.go", Ask, LayerAgent},     // an agent's ask counts
		{`{"shell_exec": "allow"}`, "", "", "shell_exec", "ls", Ask, LayerDefault}, // and its allow lifts nothing
		{`{"*": "allow"}`, "", "", "read_file", ".env", Deny, LayerDefault},
		{`{"*": "allow"}`, "", "", "read_file", "a.go", Allow, LayerAgent},
		{`{"grep": "allow"}`, "", "", "read_file", "a.go", Allow, LayerDefault}, // it says nothing of read_file
		{`{"shell_exec": "deny"}`, `{"*": "allow"}`, "", "shell_exec", "ls", Deny, LayerAgent},
		{`{"read_file": "ask"}`, `{"read_file": "allow"}`, "", "read_file", "a.go", Allow, LayerStatic},
		{"", `{"read_file": {".env": "allow"}}`, "", "read_file", ".env", Allow, LayerStatic},
		{"", `{"shell_exec": {"git *": "allow"}}`, "", "shell_exec", "git diff", Allow, LayerStatic},
		{"", `{"shell_exec": {"git *": "allow"}}`, "", "shell_exec", "rm x", Ask, LayerDefault},
		{"", `{"write_file": "deny"}`, `{"write_file": "allow"}`, "write_file", "a", Allow, LayerRuntime},
	} {
		l := Layers{Static: parse(tt.static), Runtime: parse(tt.runtime), Defaults: Defaults()}
		if tt.agent != "" {
			l.Agents = []*Ruleset{parse(tt.agent)}
		}
		d := l.Decide([]Value{{Tool: tt.tool, Text: tt.value}})
		if d.Action != tt.want || d.Layer != tt.by {
			t.Errorf("agent %s static %s: %s %q is %v by %s, want %v by %s", tt.agent, tt.static, tt.tool, tt.value, d.Action, d.Layer, tt.want, tt.by)
		}
		e := l.Explain([]Value{{Tool: tt.tool, Text: tt.value}})
		wins := 0
		for _, m := range e.Values[0].Matches {
			if m.Wins {
				wins++
				if m.Layer != tt.by {
					t.Errorf("%s %q: the explanation says %s", tt.tool, tt.value, m.Layer)
				}
			}
		}
		if wins != 1 {
			t.Errorf("%s %q: %d rules win", tt.tool, tt.value, wins)
		}
	}
}

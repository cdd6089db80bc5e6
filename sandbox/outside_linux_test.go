package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestDeniedOutside: rules that deny by an absolute path bind commands in the folders
// that they see beside the workspace.
func TestDeniedOutside(t *testing.T) {
	const setup = `cd ../home; mkdir -p .config/git .config/go/deep go/bin .cache/go-build/00 many .local/bin dot
		for f in .gitconfig .config/git/credentials .config/go/deep/key go/bin/tool .cache/go-build/00/x dot/real; do echo S3CRETMARK > $f; done
		ln -s ../../dot/real .local/bin/link; echo fine > .config/git/config; echo fine > .config/go/env`
	for name, c := range map[string]struct{ pattern, file, fine string }{
		"a file":             {"HOME/.gitconfig", ".gitconfig", ".config/git/config"},
		"a file in a folder": {"HOME/.config/git/credentials", ".config/git/credentials", ".config/git/config"},
		"all of a folder":    {"HOME/.config/git/**", ".config/git/credentials", ".config/go/env"},
		"a folder above":     {"HOME/.config/**", ".config/go/deep/key", ""},
		"a name":             {"HOME/.config/**/key", ".config/go/deep/key", ".config/go/env"},
		"braces":             {"HOME/.config/{git,go}/cred*", ".config/git/credentials", ".config/git/config"},
		"a copied folder":    {"HOME/.cache/go-build/00/x", ".cache/go-build/00/x", ".config/git/config"},
		"a toolchain":        {"HOME/go/**", "go/bin/tool", ".config/git/config"},
		"any place":          {"*credentials", ".config/git/credentials", ".config/git/config"},
		"any folder":         {"**/deep/**", ".config/go/deep/key", ".config/go/env"},
		"behind a link":      {"HOME/.local/bin/*", ".local/bin/link", ".config/git/config"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, all, setup, sandbox.Options{})
			p.input.Layers.Agents[0] = rules(t, `{"*": "allow", "read_file": {"*": "allow", "`+strings.ReplaceAll(c.pattern, "HOME", p.home)+`": "deny"}}`)
			out, _ := p.run(`cat ~/` + c.file + `; echo; cat ~/` + c.fine)
			if strings.Contains(out, mark) || c.fine != "" && !strings.Contains(out, "fine") {
				t.Errorf("%s", out)
			}
		})
	}
	p := newPlace(t, `{"*": "allow", "read_file": {"*": "allow", "/etc/hostname": "deny", "/etc/**/os-release": "deny", "/usr/lib/os-release": "deny"}}`, "", sandbox.Options{})
	host, err := os.ReadFile("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := p.run(`cat /etc/hostname /usr/lib/os-release /etc/os-release; cat /etc/passwd`)
	if strings.Contains(out, strings.TrimSpace(string(host))+"\n") || strings.Contains(out, "PRETTY_NAME") || !strings.Contains(out, "root:") {
		t.Errorf("%s", out)
	}
}

// TestDeniedOutsideLater: what comes to a folder beside the workspace between two calls of a session is held in the
// second, in folders that were looked at for the first.
func TestDeniedOutsideLater(t *testing.T) {
	for name, later := range map[string]string{
		"a file":           "echo S3CRETMARK > old/deep/id.pem",
		"a folder":         "mkdir old/new && echo S3CRETMARK > old/new/id.pem",
		"another name":     "mv old/deep/plain old/deep/id.pem; echo S3CRETMARK > old/deep/id.pem",
		"a link":           "echo S3CRETMARK > real; ln -s ../../real old/deep/id.pem",
		"another folder":   "mkdir x; echo S3CRETMARK > x/id.pem; rm -r old/deep; mv x old/deep",
		"at once, a place": "rm -r old; mkdir -p old/deep; echo S3CRETMARK > old/deep/id.pem",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, all, `mkdir -p ../home/.local/bin/old/deep; echo fine > ../home/.local/bin/old/deep/plain`, sandbox.Options{})
			p.input.Layers.Agents[0] = rules(t, `{"*": "allow", "read_file": {"*": "allow", "*.pem": "deny"}}`)
			if out, _ := p.run(`cat ~/.local/bin/old/deep/plain`); !strings.Contains(out, "fine") {
				t.Fatalf("%s", out)
			}
			p.script(`cd ../home/.local/bin && ` + later)
			if out, _ := p.run(`cat ~/.local/bin/old/*/id.pem ~/.local/bin/real; echo end`); strings.Contains(out, mark) || !strings.HasSuffix(out, "end\n") {
				t.Errorf("%s", out)
			}
		})
	}
}

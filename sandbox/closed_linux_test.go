package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestHomeCredentials: what programs keep in the home folder to log in is not there for a command,
// and what builds need is.
func TestHomeCredentials(t *testing.T) {
	p := newPlace(t, all, "", sandbox.Options{})
	put := func(name, text string) {
		path := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		".config/git/credentials", ".git-credentials", ".local/share/uv/credentials/credentials.toml", ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
		".cargo/credentials", ".cargo/credentials.toml", ".npmrc", ".yarnrc.yml", ".gradle/gradle.properties", ".gradle/init.d/a.gradle", ".m2/settings.xml",
		".m2/settings-security.xml", ".config/gh/hosts.yml", ".docker/config.json", ".config/mise/age.txt", ".local/share/mise/trusted-configs/a",
		".deno/auth.json", ".bun/token", ".bunfig.toml", ".config/go/telemetry/a", ".config/pip/pip.conf", ".pip/pip.conf", ".pypirc", ".netrc", ".aws/credentials",
		".config/gcloud/a.json", ".kube/config", ".ssh/id_rsa", ".gnupg/a", ".local/share/keyrings/a", ".config/pypoetry/auth.toml", ".nuget/NuGet/NuGet.Config",
		".config/composer/auth.json", ".gem/credentials", ".local/share/gem/credentials", ".config/pnpm/auth.ini",
	} {
		put(name, mark)
	}
	for name, text := range map[string]string{ // settings that hold one
		".cargo/config.toml":                      "[registry]\ntoken = \"" + mark + "\"\n",
		".config/mise/config.toml":                "[env]\nGITHUB_TOKEN = '" + mark + "'\n",
		".config/go/env":                          "GOPROXY=https://me:" + mark + "@proxy.example\n",
		".config/git/config":                      "[url \"https://" + mark + "@github.com/\"]\n\tinsteadOf = https://github.com/\n",
		".nvm/versions/node/v24.0.0/etc/npmrc":    "//r.example/:_authToken=" + mark + "\n",
		".cargo/git/db/x-1/config":                "[http]\n\textraHeader = Authorization: basic " + mark + "\n",
		"go/pkg/mod/cache/vcs/abc/config":         "[remote \"o\"]\n\turl = https://u:" + mark + "@h.example/x\n",
		".local/share/uv/tools/x/pip.conf":        "[global]\nindex-url = https://u:" + mark + "@h.example/simple\n",
		".local/share/mise/plugins/x/.git/config": "[remote \"o\"]\n\turl = https://" + mark + "@h.example/x\n",
		".bun/install/global/bunfig.toml":         "[install]\nregistry = { url = \"https://r\", token = \"" + mark + "\" }\n",
		".asdf/installs/nodejs/24.0.0/etc/npmrc":  "//r.example/:_password=" + mark + "\n",
		".cache/pre-commit/repo1/.git/config":     "[remote \"o\"]\n\turl = https://u:" + mark + "@h.example/x\n",
		".local/share/pnpm/rc":                    "//r.example/:_authToken=" + mark + "\n",
		".config/git/ignore":                      "",
		".config/mise/settings.toml":              "experimental = true\n",
	} {
		put(name, text)
	}
	needed := []string{
		".config/git/attributes", "go/bin/x", "sdk/x", ".rustup/settings.toml", ".cargo/bin/x", ".nvm/nvm.sh", ".nvm/versions/node/v24.0.0/bin/node", ".volta/layout.v4",
		".bun/bin/bun", ".deno/bin/deno", ".local/share/uv/python/x", ".local/share/uv/tools/x/bin/x", ".dotnet/dotnet", ".dotnet/sdk/x", ".dotnet/shared/x",
		".local/share/mise/installs/x", ".local/share/mise/shims/x", ".pyenv/bin/pyenv", ".cargo/registry/x", ".cargo/git/db/x-1/HEAD", ".cargo/git/db/x-2/config",
		".npm/_cacache/x", ".m2/repository/x", ".gradle/caches/x", ".nuget/packages/x", "go/pkg/mod/x",
	}
	for _, name := range needed {
		put(name, "needed")
	}
	put(".gitconfig", "[user]\n\tname = a\n\temail = a@b\n[credential]\n\thelper = store\n[url \"ssh://git@github.com/\"]\n\tinsteadOf = https://github.com/\n")
	p.input.Folders = sandbox.DefaultFolders(p.home)
	out, _ := p.run(`cd ~; grep -ral ` + mark + ` . | sed s/^/shown:/; for f in ` + strings.Join(needed, " ") + `; do grep -q needed $f || echo missing:$f; done; git config user.name`)
	if strings.Contains(out, "shown:") || strings.Contains(out, "missing:") || !strings.HasSuffix(out, "a\n") {
		t.Errorf("%s", out)
	}
}

// TestClosedOfSystem: what not everybody may read of /etc and /opt is not there for a command of
// root's, whatever its name is, and the rest is.
func TestClosedOfSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root could read it")
		return
	}
	for _, base := range []string{"/etc", "/opt"} {
		dir, err := os.MkdirTemp(base, "closed-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		p := newPlace(t, all, `cd `+dir+` && chmod 755 . && echo S3CRETMARK > key && chmod 600 key && echo S3CRETMARK > group && chmod 640 group &&
			mkdir locked && echo S3CRETMARK > locked/a && chmod 700 locked && mkdir -p half/in && echo S3CRETMARK > half/in/a && chmod 711 half && chmod 600 half/in/a &&
			mkdir -p byname && echo fine > byname/b && chmod 711 byname && echo fine > plain && ln -s key link && mkdir -p locked/tools && echo fine > locked/tools/t && chmod 700 locked/tools`, sandbox.Options{})
		out, _ := p.run(`cd ` + dir + `; grep -ra S3CRETMARK .; cat key group locked/a half/in/a link; cat plain byname/b; cat /proc/self/root` + dir + `/key`)
		if strings.Contains(out, mark) || strings.Count(out, "fine\n") != 2 {
			t.Errorf("%s: %s", base, out)
		}
		// What is closed later is closed for the next command.
		p.script(`echo S3CRETMARK > ` + dir + `/plain && chmod 600 ` + dir + `/plain`)
		sandbox.LookAgain()
		if out, _ := p.run(`cat ` + dir + `/plain`); strings.Contains(out, mark) {
			t.Errorf("%s, closed later: %s", base, out)
		}
		// A person may have a part of it shown.
		p.input.Folders = []sandbox.Folder{{Path: dir + "/locked/tools", Access: sandbox.Read}}
		if out, _ := p.run(`cat ` + dir + `/locked/tools/t ` + dir + `/locked/a`); strings.Contains(out, mark) || !strings.Contains(out, "fine") {
			t.Errorf("%s, a part is shown: %s", base, out)
		}
	}
}

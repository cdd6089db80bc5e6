package sandbox_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// build runs a build that has to end well, and to write want.
func (p *place) build(command, want string) {
	p.t.Helper()
	out, proc := p.run("exec 2>&1; set -e; " + command)
	if state, _ := proc.Wait(); !state.Success() || !strings.Contains(out, want) {
		p.t.Errorf("%s: %v, want %q\n%s\n%v", command, state, want, out, proc.Refused())
	}
}

// buildRules are those of a workspace as it comes.
const buildRules = `{"*": "allow", "read_file": {"*": "allow", "*.env": "deny"}, "write_file": {"*": "allow", "*.env": "deny"}}`

func TestBuildGo(t *testing.T) {
	p := newPlace(t, buildRules, `git init -q . && touch .env
		printf 'module x\ngo 1.26\n' > go.mod
		printf 'package main\nfunc main() { println("built") }\n' > m.go
		printf 'package main\nimport ("testing"; "os")\nfunc TestX(t *testing.T) { if err := os.WriteFile(t.TempDir()+"/f", nil, 0o600); err != nil { t.Fatal(err) } }\n' > m_test.go`, sandbox.Options{})
	// The cache of this machine, as a copy on write.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(cache))
	p.input.Folders = append(sandbox.DefaultFolders(p.home), sandbox.Folder{Path: dir, Access: sandbox.Copy})
	p.build(`export GOCACHE=`+dir+` GOTOOLCHAIN=local GOFLAGS=-mod=mod; go build -o m . && ./m && go vet . && go test -count=1 .`, "built")
	p.build(`touch `+dir+`/poison; test -e `+dir+`/poison`, "")
	if _, err := os.Stat(filepath.Join(dir, "poison")); err == nil {
		t.Error("the cache outside has changed")
	}
	p.build(`git add m.go && git -c user.name=a -c user.email=a@b commit -qm built && git log --format=%s && git status --short`, "built")
}

func TestBuildNode(t *testing.T) {
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	files := tar.NewWriter(zip)
	for name, text := range map[string]string{"package/package.json": `{"name":"left","version":"1.0.0","scripts":{"postinstall":"node -e 'require(\"fs\").writeFileSync(\"built\",\"\")'"}}`, "package/index.js": `module.exports = 42`} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files, text); err != nil {
			t.Fatal(err)
		}
	}
	files.Close()
	zip.Close()
	sum := sha512.Sum512(archive.Bytes())
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(archive.Bytes())
			return
		}
		http.NotFound(w, r)
	}))
	defer registry.Close()
	lock := fmt.Sprintf(`{"name":"x","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"x","version":"1.0.0","dependencies":{"left":"1.0.0"}},
		"node_modules/left":{"version":"1.0.0","resolved":"http://registry.test/left/-/left-1.0.0.tgz","integrity":"sha512-%s","hasInstallScript":true}}}`,
		base64.StdEncoding.EncodeToString(sum[:]))
	p := newPlace(t, buildRules, `cat > package-lock.json <<< `+quote(lock)+`
		echo '{"name":"x","version":"1.0.0","dependencies":{"left":"1.0.0"},"scripts":{"test":"node -e \"console.log(require(\\\"left\\\"))\""}}' > package.json`,
		sandbox.Options{Network: func(_ context.Context, hostport, _ string) error {
			if hostport != "registry.test:80" {
				return fmt.Errorf("%s is not the registry", hostport)
			}
			return nil
		}})
	p.session.SetDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, registry.Listener.Addr().String())
	})
	p.build(`npm ci --registry http://registry.test/ --no-audit --no-fund --no-update-notifier && npm test`, "42")
	p.build(`test -e node_modules/left/built`, "")
}

func TestBuildCargo(t *testing.T) {
	if _, err := exec.LookPath("cargo"); err != nil {
		t.Log("there is no cargo")
		return
	}
	p := newPlace(t, buildRules, `mkdir src; printf '[package]\nname="x"\nversion="0.1.0"\nedition="2021"\n' > Cargo.toml; echo 'fn main() { println!("built"); }' > src/main.rs`, sandbox.Options{})
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		home = "/root"
	}
	p.home = home
	p.input.Workspace.Home = home
	p.input.Folders = nil
	p.build(`cargo build --offline && ./target/debug/x`, "built")
}

//go:build hosts && linux

package lsp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/tool/lsp"
)

// real opens a session with the language servers that .ci/hosts has installed.
func real(t *testing.T, files map[string]string) *session {
	t.Helper()
	for _, name := range []string{"gopls", "typescript-language-server"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: .ci/hosts installs it, in a folder that belongs into PATH", err)
		}
	}
	s := openWith(t, lsp.Options{CacheDir: t.TempDir()})
	for name, content := range files {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// started has a server look at a file, until it answers.
func (s *session) started(path string) {
	for i := 0; i < 4 && strings.Contains(s.call("diagnostics", args{"path": path}), "has not answered"); i++ {
	}
}

// within makes a call that takes no longer, and returns its text.
func (s *session) within(limit time.Duration, name string, a args) string {
	s.t.Helper()
	began := time.Now()
	text := s.call(name, a)
	took := time.Since(began)
	s.t.Logf("%s took %s: %s", name, took.Round(time.Millisecond), text)
	if took > limit {
		s.t.Errorf("%s took %s, more than %s", name, took, limit)
	}
	return text
}

func (s *session) says(text string, want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.t.Errorf("%s\nlacks %s", text, w)
		}
	}
}

var module = map[string]string{
	"go.mod":     "module example.com/x\n\ngo 1.26\n",
	"main.go":    "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(help()) }\n",
	"help.go":    "package main\n\n// help helps.\nfunc help() string { return \"x\" }\n",
	"sub/sub.go": "package sub\n\nfunc Sub() int { return 1 }\n",
}

// TestGopls: an edit that breaks the build says where, within 3 seconds.
func TestGopls(t *testing.T) {
	s := real(t, module)
	s.started("main.go")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "main.go", "oldText": "help()", "newText": "helper()"}), "main.go:5:27: error: undefined: helper [compiler UndeclaredName]")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "main.go", "oldText": "helper()", "newText": "help()"}), "gopls finds nothing new that is wrong (1 fixed)")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "help.go", "oldText": "func help()", "newText": "func other()"}), "main.go:5:27: error: undefined: help")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "help.go", "oldText": "func other()", "newText": "func help()"}), "gopls finds nothing new")
	s.says(s.within(30*time.Second, "definition", args{"path": "main.go", "line": 5, "symbol": "help"}), "help.go:4:6", "func help() string")
	s.says(s.within(30*time.Second, "references", args{"path": "help.go", "line": 4, "symbol": "help"}), "help.go:4:6", "main.go:5:27")
	s.says(s.within(30*time.Second, "symbols", args{"path": "help.go"}), "help.go:4: function help")
	s.says(s.within(30*time.Second, "symbols", args{"path": "help.go", "query": "Sub"}), "sub/sub.go:3: function")
	s.says(s.within(30*time.Second, "diagnostics", args{"path": "main.go"}), "gopls knows no diagnostics of it: nothing is wrong")
}

// TestTypeScript is TestGopls for TypeScript.
func TestTypeScript(t *testing.T) {
	s := real(t, map[string]string{
		"tsconfig.json": `{"compilerOptions": {"strict": true}, "include": ["*.ts"]}`,
		"main.ts":       "import { help } from './help';\nconst n: string = help();\nconsole.log(n);\n",
		"help.ts":       "export function help(): string { return 'x'; }\n",
	})
	s.started("main.ts")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "main.ts", "oldText": "const n: string", "newText": "const n: number"}), "main.ts:2:7: error: Type 'string' is not assignable to type 'number'. [typescript 2322]")
	s.says(s.within(3*time.Second, "edit_file", args{"path": "main.ts", "oldText": "const n: number", "newText": "const n: string"}), "typescript finds nothing new that is wrong (1 fixed)")
	s.says(s.within(30*time.Second, "definition", args{"path": "main.ts", "line": 2, "symbol": "help"}), "help.ts:1:17")
	s.says(s.within(30*time.Second, "references", args{"path": "help.ts", "line": 1, "symbol": "help"}), "main.ts:2:19")
	s.says(s.within(30*time.Second, "symbols", args{"path": "help.ts"}), "help.ts:1: function help")
}

// bare returns how long gopls takes by itself, without a cache, to say what is wrong with a file.
func (s *session) bare(path string) time.Duration {
	s.t.Helper()
	check := exec.CommandContext(s.t.Context(), "gopls", "check", path)
	check.Dir, check.Env = s.dir, append(os.Environ(), "GOPLSCACHE="+s.t.TempDir())
	began := time.Now()
	out, err := check.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "undefined: wrong") {
		s.t.Fatalf("gopls check: %v: %s", err, out)
	}
	return time.Since(began)
}

// TestLargeRepository: in a repository of 10,000 files nothing is started before an edit, no edit waits for
// the start, and the first diagnostics are there within 15 seconds. A busy machine has eight times as long as
// gopls by itself: each file that is opened in the sandbox is judged.
func TestLargeRepository(t *testing.T) {
	files := map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"}
	for i := range 10_000 {
		files[fmt.Sprintf("p%d/f%d.go", i/50, i%50)] = fmt.Sprintf("package p%d\n\nimport \"strings\"\n\n// F%d is one of many.\nfunc F%d(s string) string { return strings.ToUpper(s) }\n", i/50, i%50, i%50)
	}
	s := real(t, files)
	s.call("read_file", args{"path": "main.go"})
	if n := s.servers.Running(); n != 0 {
		t.Errorf("%d servers run before an edit", n)
	}
	began := time.Now()
	text := s.within(3*time.Second, "edit_file", args{"path": "main.go", "oldText": "{}", "newText": "{ wrong() }"})
	for i := 0; !strings.Contains(text, "main.go:3:15: error: undefined: wrong"); i++ {
		text = s.call("diagnostics", args{"path": "main.go"})
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("after %s: %s", time.Since(began), text)
		}
	}
	took := time.Since(began)
	bare := s.bare("main.go")
	t.Logf("the first diagnostics came after %s; gopls by itself takes %s", took, bare)
	if took > max(15*time.Second, 8*bare) {
		t.Errorf("that is too long")
	}
}

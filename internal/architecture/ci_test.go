package architecture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlaky holds what .ci/tests makes of tests that pass the second time, and of
// tests that don't.
func TestFlaky(t *testing.T) {
	script, err := filepath.Abs(filepath.Join("..", "..", ".ci", "tests"))
	if err != nil {
		t.Fatal(err)
	}
	const once = `if _, err := os.Stat("ran"); err != nil { os.WriteFile("ran", nil, 0o600); `
	for _, c := range []struct {
		name, body string
		ok         bool
		want       string
	}{
		{"passes", "", true, "ok "},
		{"passes the second time", once + `t.Fatal("first") }`, true, "flaky: sample TestSample\n"},
		{"panics the first time", once + `go panic("first"); select {} }`, true, "flaky: sample "},
		{"fails", `t.Fatal("always")`, false, "once more: sample TestSample\n"},
		{"does not compile", `x`, false, "once more: sample all tests\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod":         "module sample\n\ngo 1.26\n",
				"sample_test.go": "package sample\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestSample(t *testing.T) {\n\t_ = os.Args\n" + c.body + "\n}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("bash", script, "go", "test", "./...", "-vet=off")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "flaky:") != strings.Contains(c.want, "flaky:") {
				t.Errorf("%v, want %q in\n%s", err, c.want, out)
			}
		})
	}
}

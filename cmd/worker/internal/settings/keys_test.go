package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model/provider"
)

// TestReadKey: a key file is one word that nobody else can read; an error says
// what is wrong and shows nothing of it.
func TestReadKey(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, content string
		mode          os.FileMode
		key, wrong    string
	}{
		{"plain", "sk-secret\n", 0o600, "sk-secret", ""},
		{"read only", "\r\n sk-secret\r\n", 0o400, "sk-secret", ""},
		{"empty", " \n", 0o600, "", "is empty"},
		{"for the group", "sk-secret", 0o640, "", "chmod 600"},
		{"for others to write", "sk-secret", 0o602, "", "chmod 600"},
		{"two words", "key sk-secret", 0o600, "", "one word"},
		{"a header", "sk-secret\nX: y", 0o600, "", "one word"},
		{"an escape", "sk-secret\x1b[2J", 0o600, "", "one word"},
		{"no ASCII", "sk-secret-ä", 0o600, "", "one word"},
		{"large", strings.Repeat("sk-secret", 4000), 0o600, "", "too long for a key"},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		key, err := readKey(path)
		switch {
		case key != tt.key, (err == nil) != (tt.wrong == ""), err != nil && !strings.Contains(err.Error(), tt.wrong):
			t.Errorf("%s: key %q, %v, want %q, %q", tt.name, key, err, tt.key, tt.wrong)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error shows the key: %v", tt.name, err)
		}
	}
	if _, err := readKey(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestCommandKey: a key command is asked once for a while, without a shell of
// anybody's making, and fails in words of ours.
func TestCommandKey(t *testing.T) {
	dir := t.TempDir()
	p := &Provider{Row: provider.Rows[1], command: "echo x >>" + filepath.Join(dir, "asked") + "; echo $KEY"}
	for range 3 {
		key, err := p.APIKey([]string{"PATH=" + os.Getenv("PATH"), "KEY=sk-secret"}, func(string) string { return "sk-other" })
		if key != "sk-secret" || err != nil {
			t.Fatalf("key %q, %v", key, err)
		}
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); string(asked) != "x\n" {
		t.Errorf("it was asked %q, %v, want once", asked, err)
	}
	for _, tt := range []struct{ command, wrong string }{
		{"true", "is empty"},
		{"echo sk-secret; exit 1", "exit status 1"},
		{"echo sk-secret; echo more", "one word"},
		{"yes sk-secret | head -c 1000000", "too long for a key"},
	} {
		p := &Provider{Row: provider.Rows[1], command: tt.command}
		key, err := p.APIKey([]string{"PATH=" + os.Getenv("PATH")}, nil)
		if key != "" || err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(strings.ReplaceAll(err.Error(), tt.command, ""), "secret") {
			t.Errorf("%s: key %q, %v, want %q", tt.command, key, err, tt.wrong)
		}
	}
}

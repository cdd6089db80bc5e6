package settings

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
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
		key, err := p.APIKey(t.Context(), []string{"PATH=" + os.Getenv("PATH"), "KEY=sk-secret"}, func(string) string { return "sk-other" })
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
		key, err := p.APIKey(t.Context(), []string{"PATH=" + os.Getenv("PATH")}, nil)
		if key != "" || err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(strings.ReplaceAll(err.Error(), tt.command, ""), "secret") {
			t.Errorf("%s: key %q, %v, want %q", tt.command, key, err, tt.wrong)
		}
	}
}

// TestCommandRefused: what can't be a key or headers is not kept, so that the next request runs the command
// anew.
func TestCommandRefused(t *testing.T) {
	environ := []string{"PATH=" + os.Getenv("PATH")}
	file := filepath.Join(t.TempDir(), "printed")
	p := &Provider{Row: provider.Rows[1], command: "cat " + file, headersCommand: newKeptOutput("cat "+file, printedHeaders)}
	for _, printed := range []struct{ text, key, headers string }{
		{"", "is empty", "no JSON object"},
		{"two words", "one word", "no JSON object"},
		{"null", "", "no JSON object"},
		{`{"a b":"x"}`, "", `"a b" can't be a header`},
		{`{"A":"x"}`, "", ""},
	} {
		if err := os.WriteFile(file, []byte(printed.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := p.commandKey(t.Context(), environ, false)
		if (err == nil) != (printed.key == "") || err != nil && !strings.Contains(err.Error(), printed.key) {
			t.Errorf("%q as a key: %v, want %q", printed.text, err, printed.key)
		}
		_, err = p.headersCommand.read(t.Context(), environ, false)
		if (err == nil) != (printed.headers == "") || err != nil && !strings.Contains(err.Error(), printed.headers) {
			t.Errorf("%q as headers: %v, want %q", printed.text, err, printed.headers)
		}
	}
}

// TestCommandCancelled: who is cancelled waits neither for the command nor for another one that does, and the
// next one gets the output.
func TestCommandCancelled(t *testing.T) {
	dir := t.TempDir()
	begun, environ := filepath.Join(dir, "begun"), []string{"PATH=" + os.Getenv("PATH")}
	k := newKeptOutput("test -e "+dir+"/go || { echo >"+dir+"/begun; sleep 10000; }; echo sk-1", printedKey)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := k.read(ctx, environ, false)
		first <- err
	}()
	for _, err := os.Stat(begun); err != nil; _, err = os.Stat(begun) {
		runtime.Gosched()
	}
	second, stop := context.WithCancel(t.Context())
	stop()
	if _, err := k.read(second, environ, false); !errors.Is(err, context.Canceled) {
		t.Errorf("behind another: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("while the command runs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := k.read(t.Context(), environ, false); key != "sk-1" || err != nil {
		t.Errorf("the next one: %q, %v", key, err)
	}
}

// TestKeyFiles: each file with a key is one that agents don't see.
func TestKeyFiles(t *testing.T) {
	s := &Settings{Access: eventbus.Access{Creds: "/k/creds", NKey: "/k/nkey", TokenFile: "/k/token", CA: "/k/ca", Cert: "/k/cert", Key: "/k/key"}, DoorKey: "/k/door"}
	if got, want := strings.Join(s.KeyFiles(), " "), "/k/creds /k/nkey /k/token /k/key /k/door"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := new(Settings).KeyFiles(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

package httpserver_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
)

func TestOpenToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.token")
	tokens := make([]string, 8)
	var opening sync.WaitGroup
	for i := range tokens {
		opening.Go(func() {
			var err error
			if tokens[i], err = httpserver.OpenToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(tokens[0]) {
		t.Errorf("token %q", tokens[0])
	}
	for _, other := range tokens {
		if other != tokens[0] {
			t.Errorf("tokens %q and %q of one file", tokens[0], other)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v, want mode 600", info.Mode(), err)
	}
	other, err := httpserver.OpenToken(filepath.Join(t.TempDir(), "serve.token"))
	if err != nil || other == tokens[0] {
		t.Errorf("another file: %q, %v", other, err)
	}
}

func TestOpenTokenRefuses(t *testing.T) {
	good := strings.Repeat("0f", 32)
	for _, tt := range []struct {
		content string
		mode    os.FileMode
		says    string // empty means it is accepted
	}{
		{good, 0o600, ""},
		{good + "\n", 0o400, ""},
		{good, 0o640, "read by others"},
		{good, 0o604, "read by others"},
		{"", 0o600, "64 hex digits"},
		{good[2:], 0o600, "64 hex digits"},
		{good[1:] + "x", 0o600, "64 hex digits"},
	} {
		path := filepath.Join(t.TempDir(), "serve.token")
		if err := os.WriteFile(path, []byte(tt.content), tt.mode); err != nil {
			t.Fatal(err)
		}
		token, err := httpserver.OpenToken(path)
		switch {
		case tt.says == "" && (err != nil || token != good):
			t.Errorf("%q %o: %q, %v", tt.content, tt.mode, token, err)
		case tt.says != "" && (err == nil || token != "" || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%q %o: %q, %v, want %q", tt.content, tt.mode, token, err, tt.says)
		}
	}
	if _, err := httpserver.OpenToken(filepath.Join(t.TempDir(), "none", "serve.token")); err == nil {
		t.Error("it makes a file in a folder that is not there")
	}
}

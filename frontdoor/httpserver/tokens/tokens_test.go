package tokens_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// TestFile: tokens count from when they are added until they are removed, and none of a
// file that is open to others or garbled.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve.tokens")
	f := tokens.Open(path, slog.New(slog.DiscardHandler))
	if f.Len() != 0 {
		t.Error("there are tokens without a file")
	}
	var texts []string
	for _, name := range []string{"ci", "phone"} {
		text, err := tokens.Add(path, name, []tokens.Scope{caller.Read})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
		if who, ok := f.Find(text); !ok || who.Name != name || !who.May(caller.Read) || who.May(caller.Run) || who.May(caller.Owner) || who.May("") {
			t.Errorf("%s is %+v, %v", name, who, ok)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), texts[0]) {
		t.Errorf("%v: the file has the token: %s", err, data)
	}
	for _, wrong := range []string{"", texts[0][1:], texts[0] + "0", strings.ToUpper(texts[0])} {
		if who, ok := f.Find(wrong); ok || who.May(caller.Read) {
			t.Errorf("%q is %+v", wrong, who)
		}
	}
	if _, err := tokens.Add(path, "ci", []tokens.Scope{caller.Run}); err == nil {
		t.Error("a name is there twice")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Find(texts[0]); ok {
		t.Error("a token of a file that others can read counts")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Find(texts[0]); !ok {
		t.Error("the tokens of a file that was closed do not count")
	}
	if err := tokens.Remove(path, "ci"); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Find(texts[0]); ok || f.Len() != 1 {
		t.Error("a token that was removed counts")
	}
	if err := tokens.Remove(path, "ci"); err == nil {
		t.Error("a token is removed twice")
	}
	for _, content := range []string{"", "{", `{"tokens":[]} x`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Find(texts[1]); ok {
			t.Errorf("a token of %q counts", content)
		}
	}
	if _, ok := (*tokens.File)(nil).Find(""); ok {
		t.Error("no file has a token")
	}
}

var hash = strings.Repeat("0f", 32)

func TestParseRefuses(t *testing.T) {
	for content, says := range map[string]string{
		`{"tokens":[{"name":"CI","scopes":["read"],"sha256":"` + hash + `"}]}`:                                                       "name",
		`{"tokens":[{"name":"a b","scopes":["read"],"sha256":"` + hash + `"}]}`:                                                      "name",
		`{"tokens":[{"name":"a","scopes":[],"sha256":"` + hash + `"}]}`:                                                              "scopes is empty",
		`{"tokens":[{"name":"a","scopes":["owner"],"sha256":"` + hash + `"}]}`:                                                       "owner",
		`{"tokens":[{"name":"a","scopes":["read","read"],"sha256":"` + hash + `"}]}`:                                                 "once",
		`{"tokens":[{"name":"a","scopes":["read"],"sha256":"0f"}]}`:                                                                  "sha256",
		`{"tokens":[{"name":"a","scopes":["read"],"sha256":"` + strings.ToUpper(hash) + `"}]}`:                                       "sha256",
		`{"tokens":[{"name":"a","scopes":["read"],"token":"x"}]}`:                                                                    "unknown field",
		`{"tokens":[{"name":"a","scopes":["read"],"sha256":"` + hash + `"},{"name":"b","scopes":["read"],"sha256":"` + hash + `"}]}`: "twice",
	} {
		if _, err := tokens.Parse([]byte(content)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", content, err, says)
		}
	}
}

// FuzzParse: no token of whatever file has the rights of the owner, an empty name, or no
// hash.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tokens":[{"name":"a","scopes":["read","run"],"sha256":"` + hash + `"}]}`))
	f.Add([]byte(`{"tokens":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := tokens.Parse(data)
		if err != nil {
			return
		}
		for _, token := range found {
			if !tokens.ValidName(token.Name) || len(token.SHA256) != 64 || len(token.Scopes) == 0 || slices.ContainsFunc(token.Scopes, func(s tokens.Scope) bool { return !slices.Contains(caller.Scopes, s) }) {
				t.Errorf("%+v", token)
			}
		}
	})
}

package secrets_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/secrets/secretstest"
)

func TestReplace(t *testing.T) {
	key := "gh" + "p_" + strings.Repeat("a1B2c3D4", 5)[:36]
	bearer := strings.Repeat("t0ken.", 5)
	name := func(kind, credential string) string { return "<" + kind + " " + credential + ">" }
	for _, test := range []struct{ text, want string }{
		{"nothing here", "nothing here"},
		{"a " + key + ", b", "a <GITHUB " + key + ">, b"},
		{key + " " + key, "<GITHUB " + key + "> <GITHUB " + key + ">"},
		{"Authorization: Bearer " + bearer, "Authorization: Bearer <BEARER_TOKEN " + bearer + ">"},
		{"https://me:pass-word@host/", "https://me:<PASSWORD_IN_AN_ADDRESS pass-word>@host/"},
	} {
		if got := secrets.Replace(test.text, name); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
	in := `{"a":"x\n` + key + `","b":["` + key + `"]}`
	if got, want := secrets.ReplaceJSON(in, func(string, string) string { return `"` }), `{"a":"x\n\"","b":["\""]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReplaceAll: what is masked is replaced, and nothing of it is left.
func TestReplaceAll(t *testing.T) {
	for _, key := range secretstest.Keys {
		text := "before " + key + " behind"
		got := secrets.Replace(text, func(kind, credential string) string {
			if kind == "" || strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
				t.Errorf("%s: the kind %q", text, kind)
			}
			return "[x]"
		})
		if !strings.Contains(got, "[x]") || secrets.Mask(got) != got {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

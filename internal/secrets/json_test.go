package secrets_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/secrets"
)

// TestMaskJSON: JSON stays JSON, and no escape hides a key.
func TestMaskJSON(t *testing.T) {
	for name, key := range keys {
		for _, text := range []string{key, "a\n" + key + "\"b", `{"x":"` + key + `"}`} {
			plain, err := json.Marshal(map[string]string{"command": text})
			if err != nil {
				t.Fatal(err)
			}
			var escaped strings.Builder
			for _, r := range text {
				fmt.Fprintf(&escaped, `\u%04x`, r)
			}
			for _, args := range []string{string(plain), `{"command":"` + escaped.String() + `"}`} {
				var got map[string]string
				if err := json.Unmarshal([]byte(secrets.MaskJSON(args)), &got); err != nil {
					t.Fatalf("%s in %s: %v", name, args, err)
				}
				secret := key[len(key)/2-8 : len(key)/2+8]
				if strings.Contains(got["command"], secret) || !strings.Contains(got["command"], "[masked: ") {
					t.Errorf("%s in %s: %q", name, args, got)
				}
			}
		}
	}
	for _, args := range []string{`{}`, `{"a":"x\ny","b":[1,"\u00e9\/"]}`, `{"path":"C:\\new\\tmp"}`, `not JSON \u0073`} {
		if got := secrets.MaskJSON(args); got != args {
			t.Errorf("%s: %s", args, got)
		}
	}
	cut := `{"a":"-----BEGIN RSA PRIVATE KEY-----\",\"rm\":\"x"}`
	if got := secrets.MaskJSON(cut); !json.Valid([]byte(got)) {
		t.Errorf("%s", got)
	}
}

// TestMaskAsked checks that no mask hides a command from the person who is asked about
// it.
func TestMaskAsked(t *testing.T) {
	hidden := "-----BEGIN RSA " + "PRIVATE KEY-----\nrm -rf /home/me\n"
	for _, text := range []string{hidden, "x=a://b:;rm${IFS}x@c", "rm bearer /home/me/documents/all", "aws secret: /" + rep("home/", 39)} {
		if got := secrets.MaskAsked(text); got != text {
			t.Errorf("%q is asked as %q", text, got)
		}
		if got := secrets.Mask(text); got == text {
			t.Errorf("%q is no such text", text)
		}
	}
	if got := secrets.MaskJSONAsked(`{"command":"curl -H x-api-key:` + keys["Anthropic"] + `"}`); got != `{"command":"curl -H x-api-key:sk-ant-[masked: Anthropic]"}` {
		t.Error(got)
	}
}

func FuzzMaskJSON(f *testing.F) {
	for _, key := range keys {
		f.Add(`{"a":"\"` + strings.ReplaceAll(key, "\n", `\n`) + `\\","b":["\u0073` + key[1:] + `"]}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := secrets.MaskJSON(text); json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%s became %s", text, got)
		}
	})
}

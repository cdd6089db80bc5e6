package secrets_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/secrets/secretstest"
)

const mixed = "a1B2c3D4e5F6g7H8"

var (
	keys = secretstest.Keys
	rep  = secretstest.Repeat
)

// TestMask checks that the keys of all providers are masked in any context, and that
// the text around them stays.
func TestMask(t *testing.T) {
	for name, key := range keys {
		for _, frame := range []string{"%s", "token=%s", `{"apiKey":"%s"}`, "curl -H 'Authorization: Bearer %s' x", "a\n%s\nb", `"a\n%s\"b"`, "https://user:%s@host/x"} {
			before, behind, _ := strings.Cut(frame, "%s")
			got := secrets.Mask(before + key + behind)
			if found, part := secretstest.Find(got); found != "" {
				t.Errorf("%s in %q: %q is left of it in %q", name, frame, part, got)
			}
			if !strings.Contains(got, "[masked: ") || !strings.HasPrefix(got, before) || !strings.Contains(name, "without end") && !strings.HasSuffix(got, behind) {
				t.Errorf("%s in %q: %q", name, frame, got)
			}
		}
	}
	for text, want := range map[string]string{
		"AWS_SECRET_ACCESS_KEY=" + rep(mixed, 40): "AWS_SECRET_ACCESS_KEY=[masked: AWS secret]",
		"x;AccountKey=" + rep(mixed, 86) + "==;y": "x;AccountKey=[masked: Azure];y",
		"postgres://app:hunter22x@db:5432/x":      "postgres://app:[masked: password in an address]@db:5432/x",
		"authorization: Bearer " + rep(mixed, 24): "authorization: Bearer [masked: bearer token]",
		keys["GitHub"] + " " + keys["GitHub"]:     "gh" + "p_[masked: GitHub] gh" + "p_[masked: GitHub]",
		keys["private key"] + ".":                 "-----BEGIN OPENSSH " + "PRIVATE KEY-----[masked: private key].",
		keys["JWT"] + ". " + keys["Slack"]:        "ey" + "J[masked: JWT]. xo" + "xb-[masked: Slack]",
	} {
		if got := secrets.Mask(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"", "go test ./...", "commit 3f8bacf0d1e2a3b4c5d6e7f8091a2b3c4d5e6f70", "task-list of the sk-ip counter", "sk-learn is a library of its own",
		"https://example.com/a?b=c#d", "ses_01hxyzabcdefghijklmnop", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA", "npm_config_cache=/tmp/x", "hf_hub_download",
		"Bearer of good news", "aws_secret: see the vault", "a file begins with -----BEGIN RSA PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9", "http://[::1]:8080/a@b", "git@github.com:owner/repository.git",
	} {
		if got := secrets.Mask(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestWriter: each line of a log is masked, also where it quotes a text of several lines.
func TestWriter(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(secrets.Writer(&out), nil))
	for _, key := range keys {
		log.Info("a call", "arguments", `{"a":"x`+"\n"+key+`"}`, "n", 1)
	}
	for name, key := range keys {
		if strings.Contains(out.String(), key) || strings.Contains(out.String(), strings.ReplaceAll(key, "\n", `\n`)) {
			t.Errorf("%s is in the log", name)
		}
	}
	if n := strings.Count(out.String(), "n=1\n"); n != len(keys) {
		t.Errorf("%d of %d lines are whole:\n%s", n, len(keys), out.String())
	}
}

func BenchmarkMask(b *testing.B) {
	text := strings.Repeat("The quick brown fox reads main.go, and says: func main() { os.Exit(run()) } // see https://example.com\n", 40)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		secrets.Mask(text)
	}
}

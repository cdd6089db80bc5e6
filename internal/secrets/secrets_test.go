package secrets_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/secrets"
)

// rep repeats characters to a length: no real key is in this file, nor what a scanner of
// repositories takes for one.
func rep(alphabet string, n int) string { return strings.Repeat(alphabet, n/len(alphabet)+1)[:n] }

const mixed = "a1B2c3D4e5F6g7H8"

// keys are made of the form of each provider's.
var keys = map[string]string{
	"Anthropic":               "sk-ant-" + "api03-" + rep(mixed, 80) + "-" + rep(mixed, 12) + "AA",
	"OpenAI of a project":     "sk-" + "proj-" + rep(mixed, 74) + "T3Blbk" + "FJ" + rep(mixed, 74),
	"OpenAI of before":        "sk-" + rep(mixed, 20) + "T3Blbk" + "FJ" + rep(mixed, 20),
	"AWS":                     "AK" + "IA" + rep("Q3EGV5", 16),
	"GitHub":                  "gh" + "p_" + rep(mixed, 36),
	"GitHub, fine-grained":    "github" + "_pat_" + rep(mixed, 22) + "_" + rep(mixed, 59),
	"GitLab":                  "gl" + "pat-" + rep(mixed, 20),
	"Slack":                   "xo" + "xb-" + "123456789012-1234567890123-" + rep(mixed, 24),
	"Stripe":                  "sk" + "_live_" + rep(mixed, 24),
	"Google":                  "AI" + "za" + rep(mixed, 35),
	"npm":                     "np" + "m_" + rep(mixed, 36),
	"PyPI":                    "pypi-" + "AgEIcHlwaS5vcmc" + rep(mixed, 150),
	"Hugging Face":            "h" + "f_" + rep(mixed, 34),
	"JWT":                     "ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + rep(mixed, 43),
	"Azure":                   rep(mixed, 3) + "8Q~" + rep(mixed, 34),
	"SendGrid":                "S" + "G." + rep(mixed, 22) + "." + rep(mixed, 43),
	"private key":             "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + rep(mixed+"\n", 400) + "\n-----END OPENSSH " + "PRIVATE KEY-----",
	"private key without end": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + rep(mixed+"\n", 400),
}

// TestMask: no key of any provider stays, wherever it stands, and what is beside it does.
func TestMask(t *testing.T) {
	for name, key := range keys {
		for _, frame := range []string{"%s", "token=%s", `{"apiKey":"%s"}`, "curl -H 'Authorization: Bearer %s' x", "a\n%s\nb", `"a\n%s\"b"`, "https://user:%s@host/x"} {
			before, behind, _ := strings.Cut(frame, "%s")
			got := secrets.Mask(before + key + behind)
			_, secret, named := strings.Cut(key, "PRIVATE KEY-----")
			if !named {
				secret = key
			}
			for i := 0; i+16 <= len(secret); i++ {
				if part := secret[i : i+16]; strings.Contains(got, part) && !strings.Contains(part, "PRIVATE") {
					t.Errorf("%s in %q: %q is left of it in %q", name, frame, part, got)
					break
				}
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

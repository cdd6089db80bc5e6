// Package secretstest has credentials for tests, as providers make them.
package secretstest

import "strings"

// Repeat repeats characters to a length: no real key is in this file, nor what a scanner of
// repositories takes for one.
func Repeat(alphabet string, n int) string { return strings.Repeat(alphabet, n/len(alphabet)+1)[:n] }

const mixed = "a1B2c3D4e5F6g7H8"

// Keys are made of the form of each provider's.
var Keys = map[string]string{
	"Anthropic":               "sk-ant-" + "api03-" + Repeat(mixed, 80) + "-" + Repeat(mixed, 12) + "AA",
	"OpenAI of a project":     "sk-" + "proj-" + Repeat(mixed, 74) + "T3Blbk" + "FJ" + Repeat(mixed, 74),
	"OpenAI of before":        "sk-" + Repeat(mixed, 20) + "T3Blbk" + "FJ" + Repeat(mixed, 20),
	"AWS":                     "AK" + "IA" + Repeat("Q3EGV5", 16),
	"GitHub":                  "gh" + "p_" + Repeat(mixed, 36),
	"GitHub, fine-grained":    "github" + "_pat_" + Repeat(mixed, 22) + "_" + Repeat(mixed, 59),
	"GitLab":                  "gl" + "pat-" + Repeat(mixed, 20),
	"Slack":                   "xo" + "xb-" + "123456789012-1234567890123-" + Repeat(mixed, 24),
	"Stripe":                  "sk" + "_live_" + Repeat(mixed, 24),
	"Google":                  "AI" + "za" + Repeat(mixed, 35),
	"npm":                     "np" + "m_" + Repeat(mixed, 36),
	"PyPI":                    "pypi-" + "AgEIcHlwaS5vcmc" + Repeat(mixed, 150),
	"Hugging Face":            "h" + "f_" + Repeat(mixed, 34),
	"JWT":                     "ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + Repeat(mixed, 43),
	"Azure":                   Repeat(mixed, 3) + "8Q~" + Repeat(mixed, 34),
	"SendGrid":                "S" + "G." + Repeat(mixed, 22) + "." + Repeat(mixed, 43),
	"private key":             "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + Repeat(mixed+"\n", 400) + "\n-----END OPENSSH " + "PRIVATE KEY-----",
	"private key without end": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + Repeat(mixed+"\n", 400),
}

// part is how many characters of a key are too many to be shown.
const part = 16

// Find returns which of the keys a text has a part of, and the part; empty means none.
func Find(text string) (name, shown string) {
	for name, key := range Keys {
		if _, behind, named := strings.Cut(key, "PRIVATE KEY-----"); named {
			key, _, _ = strings.Cut(behind, "-----END")
		}
		for i := 0; i+part <= len(key); i++ {
			if shown := key[i : i+part]; strings.Contains(text, shown) {
				return name, shown
			}
		}
	}
	return "", ""
}

package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Environ returns env for a program of the user's that the worker runs for itself:
// without what holds a key, and without the worker's own settings. Other programs
// of the user may read it while that program runs.
func Environ(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, value, _ := strings.Cut(e, "=")
		return strings.HasPrefix(strings.ToUpper(name), "WORKER_") || InVariable(name, value)
	})
}

// InVariable reports whether a variable of the environment holds a key or a
// password, by its name or by its value.
func InVariable(name, value string) bool { return secretName(name) || InValue(value) }

// InValue reports whether the value of a variable contains what looks like a key or
// a password.
func InValue(value string) bool { return secretValue().MatchString(value) || Mask(value) != value }

// secretName reports whether a variable of this name holds a key or a password.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for part := range strings.FieldsFuncSeq(upper, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if slices.Contains(secretParts, part) || slices.Contains(secretParts, strings.TrimSuffix(part, "S")) {
			return true
		}
	}
	return slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(upper, end) })
}

// secretParts are parts of names of variables that hold keys and passwords,
// between underscores. Their plurals count too.
var secretParts = []string{
	"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASS", "PWD", "PW", "PASSPHRASE",
	"CREDENTIAL", "CRED", "PAT", "AUTH", "COOKIE", "DSN", "JWT", "PEM", "WEBHOOK",
}

// secretEnds are ends of such names.
var secretEnds = []string{"APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY", "PASSWORD", "PASSPHRASE", "TOKEN", "SECRET", "CONNECTION_STRING"}

// secretValues are regular expressions of what keys and passwords look like in a
// variable, besides what [Mask] finds in any text: there less is enough.
var secretValues = []string{
	`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`,
	`\bAGE-SECRET-KEY-1[0-9A-Z]{20}`,
	`\bS[ACNOUX][A-Z2-7]{56}\b`,                              // a seed of NATS
	`\bsk-[A-Za-z0-9_-]{16}`,                                 // OpenAI, Anthropic, OpenRouter, …
	`\b[rsp]k_(live|test)_[A-Za-z0-9]{10}`,                   // Stripe
	`\bgh[pousr]_[A-Za-z0-9]{20}`,                            // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20}`,                          // GitHub
	`\bglpat-[A-Za-z0-9_-]{16}`,                              // GitLab
	`\b(AKIA|ASIA)[A-Z0-9]{16}\b`,                            // AWS
	`\bAIza[A-Za-z0-9_-]{30}`,                                // Google
	`\bya29\.[A-Za-z0-9_-]{20}`,                              // Google
	`\bxox[a-z]-[A-Za-z0-9-]{10}`,                            // Slack
	`\bnpm_[A-Za-z0-9]{30}`,                                  // npm
	`\bpypi-[A-Za-z0-9_-]{16}`,                               // PyPI
	`\bhf_[A-Za-z0-9]{20}`,                                   // Hugging Face
	`\bdop_v1_[0-9a-f]{20}`,                                  // DigitalOcean
	`\bSG\.[A-Za-z0-9_-]{16}`,                                // SendGrid
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`,            // a JSON Web Token
	`(?i:\b(basic|bearer)\s+[A-Za-z0-9+/_.~=-]{16})`,         // a header of HTTP
	`[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:[^\s/@?#]+@`,      // a URL with a password
	`(?i:\b(password|passwd|pwd|accountkey)\s*=\s*[^\s;&]+)`, // a connection string
}

var secretValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(strings.Join(secretValues, "|")) })

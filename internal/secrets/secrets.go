// Package secrets finds credentials in text by their form, and masks them.
//
// Only forms that are hardly anything else are known: a prefix that a provider gives its
// keys, and as many characters of its alphabet behind it. A password without a form is not
// found. All patterns are those of package regexp, whose time is linear in the text; a text
// without any of their prefixes, and most texts have none, is only searched for these.
package secrets

import (
	"io"
	"regexp"
	"strings"
	"sync"
)

// kind is a kind of credentials.
type kind struct {
	name    string
	hints   []string // one of them is in each text that has such a credential
	also    string   // and so is this
	pattern string   // where it has a group, that is masked, else the whole
}

// kinds is the table of what is masked. Unless it says more, the form is that of the table of
// gitleaks (https://github.com/gitleaks/gitleaks, config/gitleaks.toml, MIT), or looser.
var kinds = []kind{
	{"private key", []string{"PRIVATE KEY"}, "", `-----BEGIN[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.]|-[A-Za-z])*(?:-----END[ A-Z0-9_-]{0,40}PRIVATE KEY(?: BLOCK)?-----)?`}, // RFC 7468
	{"Anthropic", []string{"sk-ant-"}, "", `(?:\\[nrt]|\b)sk-ant-[A-Za-z0-9_-]{20,}`},
	{"OpenAI", []string{"sk-"}, "", `(?:\\[nrt]|\b)sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{32,64}\b)`},
	{"AWS", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, "", `(?:\\[nrt]|\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`},
	{"AWS secret", []string{"ecret", "ECRET"}, "", `(?i)aws.{0,20}?secret.{0,20}?["'=:\s\\]{1,6}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`},
	{"GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, "", `(?:\\[nrt]|\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})`},
	{"GitLab", []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-"}, "", `(?:\\[nrt]|\b)gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}`},
	{"Slack", []string{"xox", "xapp-", "hooks.slack.com"}, "", `(?:\\[nrt]|\b)(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,60}`},
	{"Stripe", []string{"k_live_", "k_test_", "whsec_"}, "", `(?:\\[nrt]|\b)(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})`},
	{"Google", []string{"AIza", "GOCSPX-", "ya29."}, "", `(?:\\[nrt]|\b)(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,})`},
	{"Azure", []string{"AccountKey=", "SharedAccessKey=", "Q~"}, "", `(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,88}={0,2})|([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})`},
	{"npm", []string{"npm_"}, "", `(?:\\[nrt]|\b)npm_[A-Za-z0-9]{36}\b`},
	{"PyPI", []string{"pypi-AgE"}, "", `(?:\\[nrt]|\b)pypi-AgE[A-Za-z0-9_-]{50,}`},
	{"Hugging Face", []string{"hf_", "api_org_"}, "", `(?:\\[nrt]|\b)(?:hf|api_org)_[A-Za-z0-9]{30,50}\b`},
	{"JWT", []string{"eyJ"}, "", `(?:\\[nrt]|\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`}, // RFC 7519
	{"SendGrid", []string{"SG."}, "", `(?:\\[nrt]|\b)SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}`},
	{"DigitalOcean", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, "", `(?:\\[nrt]|\b)do[opr]_v1_[a-f0-9]{64}\b`},
	{"Shopify", []string{"shpat_", "shpca_", "shppa_", "shpss_"}, "", `(?:\\[nrt]|\b)shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b`},
	{"Databricks", []string{"dapi"}, "", `(?:\\[nrt]|\b)dapi[a-f0-9]{32}(?:-\d)?\b`},
	{"bearer token", []string{"earer ", "EARER "}, "", `(?i)\bbearer ([A-Za-z0-9._~+/-]{20,}=*)`}, // RFC 6750
	{"password in an address", []string{"://"}, "@", `(?:\\[nrt]|\b)[a-z][a-z0-9+.-]{1,20}://[^\s/:@"']{1,}:([^\s/:@"']{6,})@`},
}

// shape is a kind ready to match.
type shape struct {
	kind
	*regexp.Regexp
}

// shapes are those of the table.
var shapes = sync.OnceValue(func() []shape {
	var all []shape
	for _, k := range kinds {
		all = append(all, shape{k, regexp.MustCompile(k.pattern)})
	}
	return all
})

// Mask returns the text with what looks like a credential replaced by "[masked: KIND]". A
// text without any is returned as it is.
func Mask(text string) string {
	if len(text) < shortest {
		return text
	}
	for i := range kinds {
		if !hinted(text, kinds[i].hints) || !strings.Contains(text, kinds[i].also) {
			continue
		}
		s := &shapes()[i]
		text = s.mask(text)
	}
	return text
}

// Writer returns a writer that masks what it writes to w, each write by itself: a line of a
// log is one.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

// Write implements [io.Writer].
func (w writer) Write(p []byte) (int, error) {
	text := string(p)
	masked := Mask(text)
	if masked == text {
		return w.Writer.Write(p)
	}
	if _, err := io.WriteString(w.Writer, masked); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shortest is the length of the shortest text that has a credential.
const shortest = 16

func hinted(text string, hints []string) bool {
	for _, hint := range hints {
		if strings.Contains(text, hint) {
			return true
		}
	}
	return false
}

// mask replaces what matches the shape: its group, where it has one.
func (s *shape) mask(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range s.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		for group := 2; group+1 < len(m); group += 2 {
			if m[group] >= 0 {
				from, to = m[group], m[group+1]
			}
		}
		if text[from] == '\\' { // the escape of a line's end before it, in JSON
			from += 2
		}
		out.WriteString(text[at:from])
		out.WriteString("[masked: " + s.name + "]")
		at = to
	}
	if at == 0 {
		return text
	}
	out.WriteString(text[at:])
	return out.String()
}

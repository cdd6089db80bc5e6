package secrets

// kind is a kind of credentials: a prefix, which is shown, and the masked part after
// it.
type kind struct {
	name  string
	after []string // the prefixes
	form  form     // what follows them, and what must come before
	of    *class   // the characters that are masked
	min   int      // how many there are at least

	joint  byte // one more that is masked in front of a byte of behind; 0 means there is none
	behind *class

	inside bool // the prefix may stand within a word
	hides  bool // a path or a command could be in what is masked: [MaskAsked] leaves it

	mark string // the replacement for the masked part
}

// form is how a credential is read.
type form uint8

const (
	run     form = iota // characters of a class, as many as there are
	anyCase             // the same after a prefix in any case
	azure               // a run after three characters, a digit and the prefix
	aws                 // 40 characters after the words aws and secret, and a separator
	address             // between the colon and the @ of an address
	jwt                 // parts of a token, with "." between them
	twoRuns             // 20 to 24 characters, ".", and min more
	pem                 // after the line that begins it, up to the line that ends it
)

// kinds is the table of what is masked. Unless a row says more, the form is copied from
// the table of gitleaks (https://github.com/gitleaks/gitleaks, config/gitleaks.toml,
// MIT), or looser.
var kinds = []*kind{
	{name: "private key", after: []string{"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"}, form: pem, of: pemBody, min: 1, joint: '-', behind: letter, inside: true, hides: true}, // RFC 7468
	{name: "Anthropic", after: []string{"sk-ant-"}, of: base64URL, min: 20},
	{name: "OpenAI", after: []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"}, of: base64URL, min: 20},
	{name: "OpenAI", after: []string{"sk-"}, of: alphanumeric, min: 32},
	{name: "AWS", after: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, of: base32, min: 16},
	{name: "AWS secret", after: separators, form: aws, of: base64, min: 40, inside: true, hides: true},
	{name: "GitHub", after: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, of: alphanumeric, min: 36},
	{name: "GitHub", after: []string{"github_pat_"}, of: wordClass, min: 22},
	{name: "GitLab", after: []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-"}, of: base64URL, min: 20},
	{name: "Slack", after: []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xoxb-", "xoxe.xoxp-", "xapp-"}, of: dashed, min: 10},
	{name: "Slack", after: []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"}, of: base64, min: 40, inside: true},
	{name: "Stripe", after: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"}, of: alphanumeric, min: 10},
	{name: "Stripe", after: []string{"whsec_"}, of: base64Padded, min: 20},
	{name: "Google", after: []string{"AIza"}, of: base64URL, min: 35},
	{name: "Google", after: []string{"GOCSPX-"}, of: base64URL, min: 28},
	{name: "Google", after: []string{"ya29."}, of: base64URL, min: 20},
	{name: "Azure", after: []string{"AccountKey=", "SharedAccessKey="}, of: base64Padded, min: 43, inside: true},
	{name: "Azure", after: []string{"Q~"}, form: azure, of: tilde, min: 31, inside: true},
	{name: "npm", after: []string{"npm_"}, of: alphanumeric, min: 36},
	{name: "PyPI", after: []string{"pypi-AgE"}, of: base64URL, min: 50},
	{name: "Hugging Face", after: []string{"hf_", "api_org_"}, of: alphanumeric, min: 30},
	{name: "JWT", after: []string{"eyJ"}, form: jwt, of: base64URL, min: 10, joint: '.', behind: base64URL}, // RFC 7519
	{name: "SendGrid", after: []string{"SG."}, form: twoRuns, of: base64URL, min: 39, joint: '.', behind: base64URL},
	{name: "DigitalOcean", after: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, of: hex, min: 64},
	{name: "Shopify", after: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, of: anyHex, min: 32},
	{name: "Databricks", after: []string{"dapi"}, of: hex, min: 32},
	{name: "bearer token", after: []string{"bearer "}, form: anyCase, of: token, min: 20, hides: true}, // RFC 6750
	{name: "password in an address", after: []string{":"}, form: address, of: password, min: 6, inside: true, hides: true},
}

// separators stand between a name and its value.
var separators = []string{`"`, `'`, "=", ":", " ", "\t", "\n", "\f", "\r", `\`}

// class is a set of bytes.
type class [256]bool

// classOf returns the class of the bytes of the given ranges, such as "AZ09", and of others.
func classOf(ranges, others string) *class {
	c := new(class)
	for i := 0; i < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	for i := range len(others) {
		c[others[i]] = true
	}
	return c
}

const letters = "AZaz"

var (
	alphanumeric = classOf(letters+"09", "")
	wordClass    = classOf(letters+"09", "_")
	base64URL    = classOf(letters+"09", "_-")
	base64       = classOf(letters+"09", "+/")
	base64Padded = classOf(letters+"09", "+/=")
	base32       = classOf("AZ27", "")
	hex          = classOf("af09", "")
	anyHex       = classOf("afAF09", "")
	dashed       = classOf(letters+"09", "-")
	tilde        = classOf(letters+"09", "_~.-")
	token        = classOf(letters+"09", "._~+/=-")
	label        = classOf("AZ09", " _-")
	userName     = classOf("\x00\xff", "").without(" \t\n\f\r/:@\"'")
	password     = userName
	scheme       = classOf("az09", "+.-")
	pemBody      = classOf(letters+"09", "+/= \t\n\f\r\\:,.")
	letter       = classOf(letters, "")
)

func (c *class) without(others string) *class {
	for i := range len(others) {
		c[others[i]] = false
	}
	return c
}

// prefix is one of a kind.
type prefix struct {
	*kind
	text   string
	before byte // the last byte but one, or'ed with 0x20: most texts differ there; 0 means there is none
}

// prefixes are those of the table by their last byte.
var prefixes = func() (by [256][]prefix) {
	for _, k := range kinds {
		k.mark = markStart + k.name + "]"
		for _, text := range k.after {
			x := prefix{kind: k, text: text}
			if len(text) > 1 {
				x.before = text[len(text)-2] | 0x20
			}
			last := text[len(text)-1]
			by[last] = append(by[last], x)
		}
	}
	return by
}()

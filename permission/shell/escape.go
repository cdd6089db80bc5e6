package shell

import (
	"regexp"
	"slices"
)

// escapeFlags are the options by which commands that do other things run a
// program of the caller's choice, or read what to do from standard input.
var escapeFlags = map[string]*regexp.Regexp{
	"ssh":        regexp.MustCompile(`(?i)^-o$|^-o.|proxycommand|localcommand|^-F`),
	"scp":        regexp.MustCompile(`^-o|^-S|^-F`),
	"sftp":       regexp.MustCompile(``),
	"rsync":      regexp.MustCompile(`^-[a-zA-Z]*e$|^-e|^--rsh|^--rsync-path`),
	"tar":        regexp.MustCompile(`^--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume-script|rmt-command)|^-I|^-F`),
	"zip":        regexp.MustCompile(`^-T|^--unzip-command|^-TT`),
	"make":       regexp.MustCompile(`^-f(?:-|/dev/.*|/proc/.*)$|^(?:-|/dev/.*|/proc/.*)$|^--eval|^-E|^(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)[:+?]?=|^--(?:file|makefile)=(?:-|/dev|/proc)`),
	"sort":       regexp.MustCompile(`^--compress-prog`),
	"split":      regexp.MustCompile(`^--filter`),
	"go":         regexp.MustCompile(`^--?(?:exec|toolexec|vettool|overlay)(?:=|$)`),
	"man":        regexp.MustCompile(`^-[PH]|^--(?:pager|html)`),
	"nc":         regexp.MustCompile(`^-[a-z]*[ec]`),
	"socat":      regexp.MustCompile(`(?i)exec:|system:|shell:`),
	"gcc":        regexp.MustCompile(`^-wrapper|^-B|^-fplugin|^-specs|^@`),
	"cargo":      regexp.MustCompile(`^--config`),
	"less":       regexp.MustCompile(`^\+|^-[kK]|^--lesskey`),
	"curl":       regexp.MustCompile(`^-K|^--config`),
	"wget":       regexp.MustCompile(`^--(?:use-askpass|config|execute)|^-e|^-i$|^--input-file`),
	"npm":        regexp.MustCompile(`^--?(?:script-shell|shell|node-options|userconfig|globalconfig|init-module|git|editor|viewer|call)(?:=|$)`),
	"ssh-keygen": regexp.MustCompile(`^-D`), "ssh-add": regexp.MustCompile(`^-s`),
	"sqlite3": regexp.MustCompile(`(?i)^\.|\n\.|readfile|writefile|load_extension|attach|edit\(`),
	"psql":    regexp.MustCompile(`\\(?:!|i|ir|o|g|s|copy|w|e)|(?i)pg_read|copy`), "mysql": regexp.MustCompile(`(?i)system|source|\\!|load_file|infile|outfile|--pager`),
	"ansible": regexp.MustCompile(`^-[am]|^--(?:args|module-name)`), "lftp": regexp.MustCompile(``), "gnuplot": regexp.MustCompile(`^-e`), "dc": regexp.MustCompile(`!`),
	"apt-get": regexp.MustCompile(`^-o|^--option|^-c|^--config-file`), "latex": regexp.MustCompile(`^\\|shell-escape|enable-write18`),
	"ftp": regexp.MustCompile(``), "rpm": regexp.MustCompile(`^--eval|^--define|^-[DE]`), "run-parts": regexp.MustCompile(``),
	"tmux": regexp.MustCompile(``), "screen": regexp.MustCompile(``), "at": regexp.MustCompile(``),
	"batch": regexp.MustCompile(``), "crontab": regexp.MustCompile(`^[^-]|^-$|^-[er]`),
}

// escapeAlias are commands that share another's options.
var escapeAlias = map[string]string{"bsdtar": "tar", "gtar": "tar", "gmake": "make", "ncat": "nc", "more": "less",
	"g++": "gcc", "cc": "gcc", "clang": "gcc", "pnpm": "npm", "yarn": "npm", "apt": "apt-get", "mariadb": "mysql",
	"pdflatex": "latex", "xelatex": "latex", "lualatex": "latex", "tex": "latex", "pdftex": "latex"}

// escapes reports whether an option makes the command run something else.
func (a *analysis) escapes(name string, v argv) bool {
	if to, ok := escapeAlias[name]; ok {
		name = to
	}
	re, ok := escapeFlags[name]
	if !ok {
		return false
	}
	if len(v) == 1 {
		return slices.Contains([]string{"tmux", "screen", "at", "batch", "crontab", "ftp"}, name)
	}
	words := v[1:]
	if name == "npm" { // what follows is for the script
		if i := slices.IndexFunc(words, func(t text) bool { return t.s == "--" }); i >= 0 {
			words = words[:i]
		}
	}
	return slices.ContainsFunc(words, func(t text) bool { return re.MatchString(t.s) })
}

// awkCode are the options of awk that take code from somewhere else.
var awkCode = regexp.MustCompile(`^-[feilEW]|^--(?:file|source|exec|include|load)`)

// program judges the first operand of a command as code.
func (a *analysis) program(v argv, dangerous *regexp.Regexp, withArg string) {
	for _, t := range v[1:] {
		if awkCode.MatchString(t.s) {
			a.unknown(v.line())
			return
		}
	}
	args := operands(v[1:], withArg)
	if len(args) > 0 && (!args[0].known || dangerous.MatchString(args[0].s)) {
		a.unknown(v.line())
	}
}

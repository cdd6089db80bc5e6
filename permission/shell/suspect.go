package shell

import (
	"strings"

	"github.com/agentworker/worker/permission"
)

// suspects looks at what follows a command that is not known, as if it ran it.
func (a *analysis) suspects(st *state, v argv) {
	if len(v) > 1 && commandName(v[1:]) != "" {
		a.denyOnly(v[1:])
	}
	a.files(st, "", v)
}

// denyOnly adds a command that may or may not be run: if a rule denies it,
// that holds.
func (a *analysis) denyOnly(v argv) {
	a.add(permission.Value{Tool: a.tool, Text: v.line(), DenyOnly: true})
	a.spellings(v)
}

// maxSuspects bounds the words of a command that may begin another.
const maxSuspects = 8

// mayRun looks at a command that nothing is known of, which may be one that
// runs its operands: what a rule denies of these is asked about.
func (a *analysis) mayRun(v argv) {
	b := &analysis{ws: a.ws, tool: a.tool, seen: map[permission.Value]bool{}, home: a.home, steps: a.steps, looks: a.looks}
	n := 0
	for i := 1; i < len(v) && n < maxSuspects; i++ {
		s := v[i].s
		if strings.HasPrefix(s, "-") {
			_, value, found := strings.Cut(s, "=")
			if !found {
				continue
			}
			s = value
		}
		n++
		b.denyOnly(append(argv{{s: s, known: v[i].known, prefix: min(v[i].prefix, len(s))}}, v[i+1:]...))
	}
	a.steps, a.looks = b.steps, b.looks
	for _, value := range b.values {
		value.Possible, value.Spelling = true, true
		a.add(value)
	}
}

// takesWords reports whether a program is known, and does not run its operands.
func takesWords(name string) bool {
	_, recurses := recursive[name]
	return pathless[name] || readers[name] || changed[name] || lastChanged[name] || searchers[name] || uploaders[name] || recurses || inert[name]
}

// inert are programs that take words which may look like commands.
var inert = wordSet(`gh hub glab hg svn helm terraform tofu pulumi vault man apropos whatis info tldr whereis help brew dnf yum pacman
	systemctl service loginctl journalctl launchctl gem composer mvn gradle rake mix rustup rustc javac java dotnet swift
	jq yq xmllint tree du chsh passwd gpg hostname ping dig nslookup host ifconfig netstat ss lsof pgrep fuser mount umount basename logger
	notify-send prettier eslint tsc jest vitest mocha pytest ruff black mypy golangci-lint staticcheck gopls gofmt goimports sqlc
	bazel buck ninja rails heroku vercel netlify fly flyctl firebase serverless sops age`)

package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// AlwaysPatterns returns the patterns that answering "always" to a call of
// tool adds, without repetition, in the order of the values. For a command of
// the shell they cover the command with whatever arguments: "git push *" for
// "git push origin main"; a command whose arguments are programs, such as
// "sudo ls", is covered as it stands and no more. For all other values they
// match that value alone. Values that are another tool's, that can only deny or
// that are unknown have none.
func AlwaysPatterns(tool string, values []permission.Value) []string {
	var patterns []string
	for _, v := range values {
		if v.Tool != tool || v.DenyOnly || v.Unknown || v.Text == "" {
			continue
		}
		p := glob.Quote(v.Text)
		if v.Written != "" {
			p = alwaysCommand(v)
		}
		if !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// alwaysCommand returns the pattern for a command of the shell.
func alwaysCommand(v permission.Value) string {
	words, ok := commandWords(v.Written)
	exact := glob.Quote(v.Text)
	if !ok || len(words) == 0 || runsAnything(words) {
		return exact
	}
	n := prefixWords(words)
	head := words[:n]
	if slices.ContainsFunc(head[min(1, n):], func(w string) bool { return strings.HasPrefix(w, "-") }) {
		if n == len(words) {
			return quoteCommand(words)
		}
		return exact // "git -C *" would be any command of git
	}
	if n == len(words) {
		if slices.ContainsFunc(head, func(w string) bool { return strings.ContainsAny(w, "$`") }) {
			return exact
		}
		return quoteCommand(head)
	}
	return quoteCommand(head) + " *"
}

// quoteCommand quotes words for a pattern, where a "./" in front may stay.
func quoteCommand(words []string) string {
	line := strings.Join(words, " ")
	if rest, ok := strings.CutPrefix(line, "./"); ok && rest != "" {
		return "./" + glob.Quote(rest)
	}
	return glob.Quote(line)
}

// commandWords returns the words of a command without quotes, and without
// those that are nothing but a substitution.
func commandWords(written string) ([]string, bool) {
	stmts, ok := parseShell(written)
	if !ok || len(stmts) != 1 {
		return nil, false
	}
	c, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return nil, false
	}
	var words []string
	for _, w := range c.Args {
		if len(w.Parts) == 1 && isSubst(w.Parts[0]) {
			continue
		}
		s, ok := plainWord(w)
		if !ok {
			s = written[w.Pos().Offset():w.End().Offset()]
		}
		words = append(words, s)
	}
	return words, true
}

// plainWord returns a word that is certain without looking further.
func plainWord(w *syntax.Word) (string, bool) {
	a := &analysis{}
	var b wordBuilder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.Lit); !ok {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	a.parts(&state{}, &b, w.Parts, false)
	t := b.text()
	return t.s, t.known
}

// runsAnything reports whether the arguments of a command are programs or
// code.
func runsAnything(words []string) bool {
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if (name == "bun" || name == "deno") && len(words) > 1 && !strings.HasPrefix(words[1], "-") && words[1] != "eval" {
		return false // a subcommand
	}
	_, wraps := wrappers[name]
	return wraps || slices.Contains(shells, name) || interpreters.MatchString(name) ||
		slices.Contains([]string{"env", "eval", "source", ".", "xargs", "parallel", "find", "su", "runuser", "script", "ssh",
			"awk", "gawk", "mawk", "sed", "trap", "npx", "bunx", "uvx", "alias", "export", "set", "hash", "crontab", "at", "doas"}, name)
}

// prefixWords returns how many words say what a command does.
func prefixWords(words []string) int {
	for n := min(3, len(words)); n > 0; n-- {
		if k, ok := arity[strings.Join(words[:n], " ")]; ok {
			return min(k, len(words))
		}
	}
	return 1
}

// arity is how many words of a command say what it does. Of several entries
// that a command begins with, the longest counts; without one, it is 1.
var arity = map[string]int{
	"apt": 2, "apt-get": 2, "aws": 3, "az": 3, "bazel": 2, "brew": 2, "bun": 2, "bun run": 3, "bun x": 3, "bundle": 2, "cargo": 2,
	"cargo add": 3, "cargo run": 3, "cdk": 2, "cf": 2, "cmake": 2, "composer": 2, "consul": 2, "consul kv": 3, "crictl": 2,
	"deno": 2, "deno task": 3, "dnf": 2, "docker": 2, "docker builder": 3, "docker buildx": 3, "docker compose": 3, "docker container": 3,
	"docker image": 3, "docker network": 3, "docker system": 3, "docker volume": 3, "doctl": 3, "dotnet": 2, "eksctl": 2,
	"eksctl create": 3, "firebase": 2, "flyctl": 2, "gcloud": 3, "gem": 2, "gh": 3, "git": 2, "git bisect": 3, "git config": 3,
	"git remote": 3, "git stash": 3, "git submodule": 3, "git worktree": 3, "go": 2, "go mod": 3, "go tool": 3, "gradle": 2,
	"helm": 2, "heroku": 2, "hugo": 2, "ip": 2, "ip addr": 3, "ip link": 3, "ip netns": 3, "ip route": 3, "just": 2, "kind": 2,
	"kind create": 3, "kubectl": 2, "kubectl config": 3, "kubectl kustomize": 3, "kubectl rollout": 3, "kustomize": 2, "make": 2, "mc": 2,
	"mc admin": 3, "minikube": 2, "mix": 2, "mongosh": 2, "mvn": 2, "mysql": 2, "ng": 2, "npm": 2, "npm exec": 3, "npm init": 3,
	"npm run": 3, "npm view": 3, "nvm": 2, "nx": 2, "openssl": 2, "openssl req": 3, "openssl x509": 3, "pacman": 2, "pip": 2,
	"pip3": 2, "pipenv": 2, "pipenv run": 3, "pnpm": 2, "pnpm dlx": 3, "pnpm exec": 3, "pnpm run": 3, "podman": 2,
	"podman container": 3, "podman image": 3, "poetry": 2, "poetry run": 3, "psql": 2, "pulumi": 2, "pulumi stack": 3, "pyenv": 2,
	"rails": 2, "rake": 2, "rbenv": 2, "redis-cli": 2, "rustup": 2, "serverless": 2, "sfdx": 3, "skaffold": 2, "sls": 2, "sst": 2,
	"swift": 2, "systemctl": 2, "task": 2, "terraform": 2, "terraform state": 3, "terraform workspace": 3, "tofu": 2, "turbo": 2,
	"ufw": 2, "uv": 2, "uv pip": 3, "uv run": 3, "vault": 2, "vault auth": 3, "vault kv": 3, "vercel": 2, "volta": 2, "wp": 2,
	"yarn": 2, "yarn dlx": 3, "yarn run": 3,
}

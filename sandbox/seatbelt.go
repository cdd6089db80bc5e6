package sandbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// SeatbeltProfile returns the profile as the text that sandbox-exec of macOS
// takes. tmp is the session's own folder, which stands for the system's folders
// of temporary files; proxy is the address of the session's proxy, "" for none.
//
// Rules about single files become regular expressions, which hold for files
// that are not there yet as well. A pattern that has none is an error: then
// nothing may be run without a question.
func (p *Profile) SeatbeltProfile(tmp, proxy string) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)\n(deny default)\n(import \"system.sb\")")
	line("(allow process-fork process-exec signal (target same-sandbox))")
	line("(allow process-info* (target same-sandbox))\n(allow sysctl-read)\n(allow pseudo-tty)")
	line("(allow file-read-metadata)\n(allow file-ioctl (literal \"/dev/tty\"))")
	for _, path := range []string{"/System", "/Library/Apple", "/Library/Developer", "/Applications/Xcode.app", "/usr", "/bin", "/sbin", "/opt", "/private/etc", "/private/var/db/dyld", "/private/var/select", "/dev"} {
		line("(allow file-read* (subpath %s))", schemeString(path))
	}
	line("(allow file-write* (literal \"/dev/null\") (literal \"/dev/tty\") (regex #\"^/dev/ttys[0-9]+$\"))")
	line("(allow file-read* file-write* (subpath %s))", schemeString(tmp))
	for _, f := range p.Folders {
		switch f.Access {
		case Write:
			line("(allow file-read* file-write* (subpath %s))", schemeString(f.Path))
		default: // there is no copy on write: a cache is read
			line("(allow file-read* (subpath %s))", schemeString(f.Path))
		}
	}
	if err := p.seatbeltRules(line, "file-read*", readTool, p.Readable); err != nil {
		return "", err
	}
	if err := p.seatbeltRules(line, "file-write*", writeTool, p.Writable); err != nil {
		return "", err
	}
	if err := p.seatbeltDenies(line, "file-write*", editTool); err != nil {
		return "", err
	}
	root := regexp.QuoteMeta(p.Workspace)
	line("(deny file-write* (regex #\"^%s/(.*/)?[.]git$\"))", schemeRegexp(root))
	line("(deny file-write* (regex #\"^%s/(.*/)?[.]git/(.*/)?(config|config[.]worktree|commondir|gitdir|hooks)(/|$)\"))", schemeRegexp(root))
	for _, path := range p.Protected {
		line("(deny file-write* (subpath %s))", schemeString(path))
	}
	for _, path := range p.Hidden {
		line("(deny file-read* file-write* (subpath %s))", schemeString(path))
	}
	line("(deny file-write-setugid)")
	seatbeltNetwork(p, line, tmp, proxy)
	return b.String(), nil
}

// seatbeltNetwork lets commands listen on loopback, and reach the proxy and sockets of their own.
// Loopback is the whole machine's here, so that other ports stay denied. A socket of another
// program takes a rule that names it.
func seatbeltNetwork(p *Profile, line func(string, ...any), tmp, proxy string) {
	line("(allow network-bind network-inbound (local ip \"localhost:*\"))")
	if proxy != "" {
		line("(allow network-outbound (remote ip %s))", schemeString(strings.Replace(proxy, "127.0.0.1", "localhost", 1)))
	}
	line("(allow network-bind network-inbound (local unix-socket (subpath %s)))", schemeString(tmp))
	line("(allow network-outbound (remote unix-socket (subpath %s)))", schemeString(tmp))
	for _, socket := range sharedSockets(p) {
		line("(allow network-outbound (remote unix-socket (literal %s)))", schemeString(socket.Path))
	}
}

// seatbeltRules writes the rules of a tool in the order in which they count:
// later ones win there, too. What a policy or an agent's layer refuses comes last, since
// nothing changes that.
func (p *Profile) seatbeltRules(line func(string, ...any), operation, tool string, any bool) error {
	if !any {
		line("(deny %s (subpath %s))", operation, schemeString(p.Workspace))
		return nil
	}
	agents := 0
	for _, layer := range p.Rules {
		if layer.Layer.Narrows() { // it grants nothing
			continue
		}
		if layer.Layer == permission.LayerAgent {
			agents++
		}
		for _, r := range layer.Rules {
			if !about(r, tool) {
				continue
			}
			verb := "deny"
			if p.may(r.Action) && agents < 2 { // what several must allow, one does not
				verb = "allow"
			}
			if err := p.seatbeltRule(line, verb, operation, r); err != nil {
				return err
			}
		}
	}
	return p.seatbeltDenies(line, operation, tool)
}

// seatbeltDenies writes what the policies and the agents' layers refuse of a tool,
// exceptions that come later in the same layer left in force.
func (p *Profile) seatbeltDenies(line func(string, ...any), operation, tool string) error {
	for _, layer := range p.Rules {
		if layer.Layer != permission.LayerAgent && !layer.Layer.Narrows() {
			continue
		}
		refuses := func(r permission.Rule) bool {
			return r.Action == permission.Deny || layer.Layer.Narrows() && !p.may(r.Action)
		}
		for i, r := range layer.Rules {
			if !refuses(r) || !about(r, tool) {
				continue
			}
			if slices.ContainsFunc(layer.Rules[i+1:], func(later permission.Rule) bool {
				return about(later, tool) && !refuses(later) && later.Pattern == "*"
			}) {
				continue // overruled
			}
			if err := p.seatbeltRule(line, "deny", operation, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Profile) seatbeltRule(line func(string, ...any), verb, operation string, r permission.Rule) error {
	expression, err := globRegexp(r.Pattern)
	if err != nil {
		return fmt.Errorf("rule %v: %w", r, err)
	}
	prefix := "^" + regexp.QuoteMeta(p.Workspace) + "/"
	if strings.HasPrefix(r.Pattern, "/") {
		prefix = "^"
	} else if r.Pattern == "*" || r.Pattern == "**" {
		line("(%s %s (subpath %s))", verb, operation, schemeString(p.Workspace))
		return nil
	}
	line("(%s %s (regex #\"%s%s$\"))", verb, operation, schemeRegexp(prefix), schemeRegexp(expression))
	return nil
}

// globRegexp translates the patterns that people write to a regular expression
// of sandbox-exec. "*" crosses "/" in rules.
func globRegexp(pattern string) (string, error) {
	var b strings.Builder
	rest := strings.TrimPrefix(pattern, "./")
	if cut, ok := strings.CutPrefix(rest, "**/"); ok {
		b.WriteString("(.*/)?")
		rest = cut
	}
	tail := ""
	if cut, ok := strings.CutSuffix(rest, "/**"); ok { // the folder and all in it
		rest, tail = cut, "(/.*)?"
	}
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case strings.HasPrefix(rest[i:], "/**/"):
			b.WriteString("/(.*/)?")
			i += 3
		case c == '*':
			for i+1 < len(rest) && rest[i+1] == '*' {
				i++
			}
			b.WriteString(".*")
		case c == '?':
			b.WriteString("[^/]")
		case strings.IndexByte(`[]{}()!+@|\"$^`, c) >= 0:
			return "", fmt.Errorf("the pattern %q has no form that sandbox-exec knows: write it with * and ? alone", pattern)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String() + tail, nil
}

// schemeString returns s as a string of the profile's language.
func schemeString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// schemeRegexp returns a regular expression as it stands between the quotes.
func schemeRegexp(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

package permission

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/permission/glob"
	"golang.org/x/text/unicode/norm"
)

// Source says where a rule was written.
type Source struct {
	File   string // a path, "built in" or "runtime"
	Line   int    // from 1; 0 means not known
	Column int    // in bytes, from 1; 0 means not known
}

// String returns "file:line", or only the file where the line is not known.
func (s Source) String() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// Rule says what to do about values of a tool.
type Rule struct {
	Tool    string // a glob that the tool's name matches
	Pattern string // a glob that the value matches
	Action  Action
	Source  Source
	Block   Block // for which sessions it is

	// Own says that the rule is the worker's. It comes after those of every
	// agent, and keeps file tools out of folders that a sandbox protects by
	// itself. It is about files that a call names, and not about what the call
	// may touch besides.
	Own bool

	// Note says in a refusal why nobody can lift the rule, and what would. Empty says whose
	// rule it is.
	Note string
}

// String returns the rule as a sentence of the compact format.
func (r Rule) String() string {
	return r.Tool + ": {" + strconv.Quote(r.Pattern) + ": " + r.Action.String() + "}" + r.Block.String()
}

// SyntaxError says what is wrong in a rule or in the text of a ruleset, and where.
type SyntaxError struct {
	Source Source
	Reason string
	Err    error // the cause, a [*glob.Error] for a pattern; may be nil
}

func (e *SyntaxError) Error() string {
	at := e.Source.String()
	if e.Source.Line > 0 && e.Source.Column > 0 {
		at += ":" + strconv.Itoa(e.Source.Column)
	}
	switch {
	case at == "":
		return e.Reason
	default:
		return at + ": " + e.Reason
	}
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// compiled is a rule ready to match.
type compiled struct {
	Rule
	tool, pattern *glob.Glob
	absolute      bool              // the pattern begins with "/"
	here          bool              // it begins with "./", as does the name of a program
	line          bool              // it has an operator of the shell in it, so that no single command matches it
	lower         func() *glob.Glob // pattern, for what is in lower case
	origin        *glob.Glob        // the scheme and host of a pattern that allows URLs; nil means it names none
}

func compileRule(r Rule) (*compiled, error) {
	fail := func(what string, err error) (*compiled, error) {
		return nil, &SyntaxError{Source: r.Source, Reason: fmt.Sprintf("rule %v: %s: %v", r, what, err), Err: err}
	}
	if r.Action < Allow || r.Action > Deny {
		return fail("action", fmt.Errorf("missing (use allow, ask or deny)"))
	}
	tool, err := glob.Compile(r.Tool)
	if err != nil {
		return fail("tool", err)
	}
	text := norm.NFC.String(r.Pattern)
	if r.Tool == networkTool {
		if text, err = hostport.Pattern(text); err != nil {
			return fail("pattern", err)
		}
	}
	pattern, err := glob.Compile(text)
	if err != nil {
		return fail("pattern", err)
	}
	c := &compiled{Rule: r, tool: tool, pattern: pattern}
	c.absolute = strings.HasPrefix(strings.TrimLeft(r.Pattern, "!"), "/")
	c.here = strings.HasPrefix(r.Pattern, "./")
	c.line = strings.ContainsAny(r.Pattern, ";&<>\n") || strings.Contains(r.Pattern, "| ") || strings.Contains(r.Pattern, " |") // "@(a|b)" is a group
	if c.origin, err = originOf(r); err != nil {
		return fail("pattern", err)
	}
	c.lower = sync.OnceValue(func() *glob.Glob { return foldGlob(text, pattern) })
	return c, nil
}

// matches reports whether the rule, whose tool matches, is about v. The text
// is normalised already.
func (c *compiled) matches(v *Value) bool {
	if v.Kind == Outside && c.Action == Allow && !c.absolute {
		return false
	}
	text := v.Text
	if c.absolute && v.Abs != "" {
		text = v.Abs
	}
	if text == "" { // matched by nothing, and yet "*: deny" means it as well
		return c.Action == Deny && c.pattern.MatchesAll()
	}
	if c.here {
		text = strings.TrimPrefix(text, "./")
	}
	if c.origin != nil && !c.origin.Match(origin(text)) {
		return false
	}
	if v.Kind == Folded {
		return c.lower().Match(text)
	}
	return c.pattern.Match(text)
}

// originOf returns the pattern of scheme and host in a rule that allows URLs, so that no star of
// it goes on into the path: "https://*.example.com/*" is not about
// "https://other.org/x.example.com/".
func originOf(r Rule) (*glob.Glob, error) {
	scheme, rest, ok := strings.Cut(r.Pattern, "://")
	if !ok || r.Action != Allow || strings.Contains(scheme, "/") {
		return nil, nil
	}
	host, _, _ := strings.Cut(rest, "/")
	origin, err := glob.Compile(scheme + "://" + host)
	if err != nil { // a group goes beyond the host
		return nil, fmt.Errorf("the host of a URL has to stand by itself before the first slash: %w", err)
	}
	return origin, nil
}

// origin returns scheme and host of a URL.
func origin(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// mayMatch reports whether the rule might be about a value that begins with
// v.Text.
func (c *compiled) mayMatch(v *Value) bool {
	if c.Own {
		return false
	}
	begin := c.pattern.Prefix()
	return strings.HasPrefix(begin, v.Text) || strings.HasPrefix(v.Text, begin)
}

// networkTool is the tool whose values are hosts.
const networkTool = "network"

// normalised returns v as patterns are compared with it: in NFC, a host in its one form.
func (v *Value) normalised() *Value {
	text, abs := normalise(v.Text), normalise(v.Abs)
	if v.Tool == networkTool {
		if host, err := hostport.Canonical(text); err == nil {
			text = host
		}
	}
	if text == v.Text && abs == v.Abs {
		return v
	}
	w := *v
	w.Text, w.Abs = text, abs
	return &w
}

// normalise returns s in the form that patterns are compared in: NFC.
func normalise(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			if norm.NFC.IsNormalString(s) {
				return s
			}
			return norm.NFC.String(s)
		}
	}
	return s
}

// expandHome replaces "~/" and "$HOME/" at the front of a pattern, after any
// "!", by the home folder, whose own characters mean themselves. Without a home
// the pattern does not change.
func expandHome(pattern, home string) string {
	body := strings.TrimLeft(pattern, "!")
	bangs := pattern[:len(pattern)-len(body)]
	for _, p := range []string{"~/", "$HOME/"} {
		if rest, ok := strings.CutPrefix(body, p); ok && home != "" {
			return bangs + glob.Quote(strings.TrimSuffix(filepath.ToSlash(home), "/")) + "/" + rest
		}
	}
	return pattern
}

// homeFolder returns home, else the user's home folder, else "".
func homeFolder(home string) string {
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	return home
}

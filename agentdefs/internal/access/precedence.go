package access

import (
	"regexp"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// maxCompared bounds the rules of a file that are compared with one another.
const maxCompared = 500

// checkPrecedence reports the clauses that never count. Each of their rules is
// followed by a wider one with another action. A rule that can win is never
// reported.
//
// The first listed ones come from tools, as a list with its own "*": deny in
// front, or as a mapping. The author did not write that deny, and to ask
// about a tool that tools names does not contradict it.
func (p *Reader) checkPrecedence(clauses []Clause, listed int, list bool) {
	total, actions := 0, map[permission.Action]bool{}
	for i, c := range clauses {
		total += len(c)
		if i > 0 || !list || listed == 0 {
			for _, r := range c {
				actions[r.Action] = true
			}
		}
	}
	if len(actions) < 2 || total > maxCompared { // mostly a list of what is allowed
		return
	}
	for i, c := range clauses {
		if i == 0 && listed > 0 && list {
			continue
		}
		by, ok := shadowed(c, clauses[i+1:])
		if ok && (i >= listed || c[0].Action == permission.Deny || by.Action == permission.Deny) {
			p.Report(diag.PermissionShadowed, c[0].Source.Line, c[0].Source.Column, "write the wider rule first and the narrower one behind it, or remove this one",
				"the rule %v never counts: %v in %s matches all that it does, and comes later", c[0], by, by.Source)
		}
	}
}

// shadowed returns the rule that takes precedence over the first rule of c. It
// returns false if a rule of c can win, or later rules say the same in the end.
func shadowed(c Clause, later []Clause) (permission.Rule, bool) {
	var first permission.Rule
	for i, r := range c {
		by, ok := lastCover(r, later)
		if !ok || by.Action == r.Action {
			return permission.Rule{}, false
		}
		if i == 0 {
			first = by
		}
	}
	return first, len(c) > 0
}

// lastCover returns the last rule of later that matches all that r does.
func lastCover(r permission.Rule, later []Clause) (by permission.Rule, ok bool) {
	for i := len(later) - 1; i >= 0; i-- {
		for j := len(later[i]) - 1; j >= 0; j-- {
			if l := later[i][j]; Covers(l.Tool, r.Tool) && Covers(l.Pattern, r.Pattern) {
				return l, true
			}
		}
	}
	return permission.Rule{}, false
}

var (
	// plainGlob is a pattern that matches only itself. What means something at
	// the front of a pattern, such as "/" and "./", is left out.
	plainGlob = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_ ./:=-]*$`)

	// plainBegin is what every match of a pattern begins with. A "/" counts only
	// before more text: "a/**" matches "a" too.
	plainBegin = regexp.MustCompile(`^\.?[A-Za-z0-9_ -]+(?:[./][A-Za-z0-9_ -]+)*`)

	// wideGlob matches all that begins with its first group.
	wideGlob = regexp.MustCompile(`^((?:\.?[A-Za-z0-9_ -]+(?:[./][A-Za-z0-9_ -]+)*)/?)\*\*?$`)
)

// literal returns what every match of a glob begins with, as far as that is easily seen.
func literal(glob string) string {
	if i := strings.IndexAny(glob, "*?[{(!\"\\+@|"); i >= 0 {
		return glob[:i]
	}
	return glob
}

// Covers reports whether the glob wide matches everything that narrow does. It
// may say no where it does.
func Covers(wide, narrow string) bool { return Covering(wide)(narrow) }

// Covering returns [Covers] for one wide glob, which may be compared with thousands.
func Covering(wide string) func(narrow string) bool {
	switch {
	case wide == "*", wide == "**":
		return func(string) bool { return true }
	case !strings.ContainsAny(wide, "*?[{(!\"\\"), // it means itself
		strings.HasPrefix(strings.TrimLeft(wide, "!"), "/"), strings.HasPrefix(wide, "./"): // it is compared with another form of the value
		return func(narrow string) bool { return wide == narrow }
	}
	begin := literal(wide)
	return func(narrow string) bool {
		if wide == narrow || !strings.HasPrefix(narrow, begin) {
			return wide == narrow
		}
		if plainGlob.MatchString(narrow) {
			glob, err := glob.Compile(wide)
			return err == nil && spelling.IsASCII(wide) && glob.Match(narrow)
		}
		m := wideGlob.FindStringSubmatch(wide)
		return m != nil && strings.HasPrefix(plainBegin.FindString(narrow), m[1])
	}
}

package offlinemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// problems tells what was denied, failed, or kept back.
func (a *answer) problems() string {
	type group struct {
		what  string
		calls []string
	}
	var groups []*group
	for _, f := range a.ev.failed {
		if a.forgiven(f) {
			continue
		}
		verb := "failed"
		if f.denied() {
			verb = "was denied"
		}
		subject := f.call.args.Path
		if subject == "" {
			subject = f.call.args.Pattern
		}
		what := f.call.tool + "\x00" + verb + "\x00" + f.reason
		i := slices.IndexFunc(groups, func(g *group) bool { return g.what == what })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{what: what})
		}
		if subject != "" {
			groups[i].calls = append(groups[i].calls, code(shorten(subject)))
		}
	}
	var b strings.Builder
	for i, g := range groups {
		if i == maxProblems {
			fmt.Fprintf(&b, "- %s more\n", plural(len(groups)-i, "problem"))
			break
		}
		part := strings.SplitN(g.what, "\x00", 3)
		of := ""
		switch {
		case len(g.calls) == 1:
			of = " of " + g.calls[0]
		case len(g.calls) > 1:
			of = fmt.Sprintf(" (%d calls)", len(g.calls))
		}
		fmt.Fprintf(&b, "- %s%s %s: %s\n", code(part[0]), of, part[1], part[2])
	}
	for _, l := range a.ev.leftOut {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	if b.Len() == 0 {
		return ""
	}
	return "**What could not be looked at**\n" + b.String()
}

var refused = regexp.MustCompile(`(?i)\b(denied|deny|refused|not allowed|not permitted|nobody can answer|not approved|forbidden)\b`)

// denied reports whether a call was not let through, rather than has failed.
func (f *failure) denied() bool {
	reason := f.reason
	if p := f.call.args.Path; p != "" {
		reason = strings.ReplaceAll(reason, p, "") // a name says nothing of why
	}
	return refused.MatchString(reason)
}

// forgiven reports whether a failure is of no interest: a guess that was none.
func (a *answer) forgiven(f failure) bool {
	if f.denied() {
		return false
	}
	for _, p := range a.q.paths {
		if p.path == f.call.args.Path && (p.loose || p.file && a.resolve(p) != "") {
			return true
		}
	}
	return false
}

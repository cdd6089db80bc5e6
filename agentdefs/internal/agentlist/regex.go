package agentlist

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission/glob"
)

// maxGlobs is how many patterns one regular expression may become.
const maxGlobs = 50

// fileGlobs returns patterns for the paths in which a regular expression is found, and no other paths.
// nil: no such patterns are known, so the expression may grant nothing.
func fileGlobs(regex string) []string {
	if regex == "" || len(regex) > 1000 {
		return nil
	}
	re, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		return nil
	}
	paths, ok := globsOf(re.Simplify())
	if !ok {
		return nil
	}
	for i, path := range paths {
		// Where no anchor stands, anything may come.
		if rest, anchored := strings.CutPrefix(path, begin); anchored {
			path = rest
		} else {
			path = "*" + path
		}
		if rest, anchored := strings.CutSuffix(path, end); anchored {
			path = rest
		} else {
			path += "*"
		}
		if path = strings.ReplaceAll(path, "**", "*"); strings.ContainsAny(path, begin+end) || path == "" {
			return nil
		}
		paths[i] = path
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Signs for the anchors, which no path has.
const begin, end = "\x01", "\x02"

// globsOf returns the patterns of a regular expression; false means that it can't be written so.
func globsOf(re *syntax.Regexp) (all []string, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		text := string(re.Rune)
		return []string{glob.Quote(text)}, re.Flags&syntax.FoldCase == 0 && !strings.ContainsAny(text, "\x00"+begin+end+"\n")
	case syntax.OpBeginText:
		return []string{begin}, true
	case syntax.OpEndText:
		return []string{end}, true
	case syntax.OpCapture:
		return globsOf(re.Sub[0])
	case syntax.OpStar: // ".*"
		return []string{"*"}, re.Sub[0].Op == syntax.OpAnyCharNotNL || re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpPlus: // ".+" is at least one
		return []string{"?*"}, re.Sub[0].Op == syntax.OpAnyCharNotNL || re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpQuest:
		all, ok := globsOf(re.Sub[0])
		return append([]string{""}, all...), ok
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if all = append(all, glob.Quote(string(r))); len(all) > maxGlobs || r < ' ' {
					return nil, false
				}
			}
		}
		return all, len(all) > 0
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			more, ok := globsOf(sub)
			if all = append(all, more...); !ok || len(all) > maxGlobs {
				return nil, false
			}
		}
		return all, true
	case syntax.OpConcat:
		all = []string{""}
		for _, sub := range re.Sub {
			more, ok := globsOf(sub)
			if !ok || len(all)*len(more) > maxGlobs {
				return nil, false
			}
			var next []string
			for _, head := range all {
				for _, tail := range more {
					next = append(next, head+tail)
				}
			}
			all = next
		}
		return all, true
	}
	return nil, false
}

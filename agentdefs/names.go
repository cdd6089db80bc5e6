package agentdefs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// directory finds agents by what they are called.
type directory struct {
	folded    map[string][]*Definition // by name, upper and lower case being one
	aliases   map[string]*Definition   // by alias, likewise
	ofPlugins map[string][]*Definition // by name without that of the plugin, likewise
	withheld  map[string]bool          // names, likewise, whose files are refused or switched off
	conflicts []conflict
}

// conflict is something about the name of an agent that its author should know.
type conflict struct{ name, code, fix, message string }

// newDirectory indexes agents, which are in the order of their names. No other
// agent answers to a withheld name: neither by an alias, nor by a name that
// differs only in upper and lower case.
func newDirectory(agents []*Definition, withheld []string) *directory {
	dir := &directory{
		folded: make(map[string][]*Definition, len(agents)), aliases: map[string]*Definition{}, ofPlugins: map[string][]*Definition{}, withheld: make(map[string]bool, len(withheld)),
	}
	for _, name := range withheld {
		dir.withheld[fold(name)] = true
	}
	for i, d := range agents {
		key := fold(d.Name)
		if same := dir.folded[key]; len(same) > 0 {
			dir.folded[key] = append(same, d)
		} else {
			dir.folded[key] = agents[i : i+1 : i+1] // nothing is appended to agents
		}
	}
	for _, d := range agents {
		if d.Plugin != "" && offered(d) {
			short := fold(strings.TrimPrefix(d.Name, d.Plugin+":"))
			dir.ofPlugins[short] = append(dir.ofPlugins[short], d)
		}
		if same := dir.folded[fold(d.Name)]; len(same) > 1 {
			// The built-in one has no file to say it of, and was there first.
			same = slices.SortedStableFunc(slices.Values(same), func(a, b *Definition) int { return cmp.Compare(number(b.BuiltIn), number(a.BuiltIn)) })
			if d != same[0] {
				dir.conflicts = append(dir.conflicts, conflict{d.Name, diag.NameCase, "give one of them another name",
					fmt.Sprintf("the name %q differs from %q, of %s, in upper and lower case or in the form of a letter only", d.Name, same[0].Name, shownFile(same[0]))})
			}
		}
		if !offered(d) {
			continue
		}
		for _, alias := range d.Aliases {
			key := fold(alias)
			var other *Definition
			if dir.withheld[key] {
				dir.conflicts = append(dir.conflicts, conflict{d.Name, diag.AliasTaken, "choose another alias",
					fmt.Sprintf("the alias %q is the name of an agent whose file is not served, and does not stand for this one", alias)})
				continue
			}
			if names := dir.folded[key]; slices.Contains(names, d) {
				continue // its own name
			} else if len(names) > 0 {
				other = names[0]
			} else if other = dir.aliases[key]; other == nil {
				dir.aliases[key] = d
			}
			if other != nil && other != d {
				dir.conflicts = append(dir.conflicts, conflict{d.Name, diag.AliasTaken, "choose another alias",
					fmt.Sprintf("the alias %q stands for %q, of %s, and not for this agent", alias, other.Name, shownFile(other))})
			}
		}
	}
	return dir
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fold maps texts that differ in upper and lower case only, as
// [strings.EqualFold] has it, or in how Unicode writes a letter with its accents,
// to one.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if least <= unicode.MaxASCII {
			return unicode.ToLower(least)
		}
		return least
	}, norm.NFC.String(s))
}

// offered reports whether the task tool offers d.
func offered(d *Definition) bool {
	return d.Mode == definition.Subagent || d.Mode == definition.All
}

func shownFile(d *Definition) string {
	if d.BuiltIn {
		return "built-in"
	}
	return d.File
}

package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/permission/glob"
)

// Finding is something in rules that probably is not meant.
type Finding struct {
	Rule Rule
	Text string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %v: %s", f.Rule.Source, f.Rule, f.Text)
}

// counterparts are tools that do the same to a file in two ways: a rule that
// denies one of them misses the other.
var counterparts = map[string]string{"write_file": "edit_file", "edit_file": "write_file"}

// Lint finds rules that are repeated, shadowed by a later one, or miss another
// way to the same file. It also finds names that are not in tools. A name with
// a ":" or "__" in it may be that of a tool of an MCP server.
func Lint(r *Ruleset, tools []string) []Finding {
	var findings []Finding
	if r == nil {
		return nil
	}
	for i, c := range r.rules {
		tell := func(format string, args ...any) {
			findings = append(findings, Finding{c.Rule, fmt.Sprintf(format, args...)})
		}
		plain := c.Tool == glob.Quote(c.Tool) && !strings.ContainsAny(c.Tool, "*?[{!(")
		if known := slices.ContainsFunc(tools, c.tool.Match); !known && plain && !strings.Contains(c.Tool, ":") && !strings.Contains(c.Tool, "__") {
			tell("there is no tool %q%s", c.Tool, suggest.DidYouMean(c.Tool, tools))
		}
		if later := slices.IndexFunc(r.rules[i+1:], c.coveredBy); later >= 0 {
			by := r.rules[i+1+later]
			if by.Tool == c.Tool && by.Pattern == c.Pattern && by.Block == c.Block {
				tell("it is written again at %s, and that counts", by.Source)
			} else if by.Action != c.Action {
				tell("it never decides, since %v (%s) is about all that it is about, and comes later", by.Rule, by.Source)
			}
		}
		other := counterparts[c.Tool]
		if c.Action == Deny && other != "" {
			v := Value{Tool: other, Text: strings.ReplaceAll(c.Pattern, "*", anyText)}
			if last := r.For(Who(c.Block)).last(&v); last == nil || last.Action == Allow {
				tell("%s is not denied the same: it may still change these files", other)
			}
		}
	}
	return findings
}

// coveredBy reports whether other is about all that c is about. Only patterns
// whose one operator is "*" are compared.
func (c *compiled) coveredBy(other *compiled) bool {
	if other.Block != (Block{}) && other.Block != c.Block {
		return false
	}
	if c.absolute != other.absolute && !other.pattern.MatchesAll() || c.line || strings.ContainsAny(c.Pattern, `?[]{}()!\`) {
		return false
	}
	tool := strings.ReplaceAll(c.Tool, "*", anyText)
	return other.tool.Match(tool) && other.pattern.Match(strings.ReplaceAll(c.Pattern, "*", anyText)) &&
		other.pattern.Match(strings.ReplaceAll(c.Pattern, "*", "x"))
}

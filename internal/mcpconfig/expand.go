package mcpconfig

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// variable is ${NAME} or ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// foreign is anything else that looks like a variable.
var foreign = regexp.MustCompile(`\$\{[^}]*\}`)

// variables yields the names of the variables in a text.
func variables(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			if !yield(m[1]) {
				return
			}
		}
	}
}

// Expand returns the server with the values of its variables. A variable that is not set
// and has no default is an error, and so is a form that is not known.
func (s *Server) Expand(lookup func(name string) (value string, set bool)) (*Server, error) {
	made := *s
	made.Args, made.Env, made.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	if s.Literal {
		return &made, nil
	}
	err := made.walk(func(text string) (string, error) {
		var wrong error
		text = foreign.ReplaceAllStringFunc(text, func(found string) string {
			m := variable.FindStringSubmatch(found)
			if m == nil || m[0] != found {
				wrong = fmt.Errorf("%s is no variable that is known here: write ${NAME} or ${NAME:-default}", found)
				return found
			}
			if value, set := lookup(m[1]); set && (value != "" || m[2] == "") {
				return value
			}
			if m[2] == "" {
				wrong = fmt.Errorf("the variable %s is not set", m[1])
				return found
			}
			return m[3]
		})
		return text, wrong
	})
	if err != nil {
		return nil, fmt.Errorf("%s: the MCP server %s: %w", s.Source(), s.Name, err)
	}
	return &made, nil
}

// walk replaces each text that may have variables in it. It returns the first error.
func (s *Server) walk(change func(text string) (string, error)) error {
	var first error
	apply := func(text string) string {
		changed, err := change(text)
		if err != nil && first == nil {
			first = err
		}
		return changed
	}
	s.Command, s.Cwd, s.URL, s.HeadersHelper = apply(s.Command), apply(s.Cwd), apply(s.URL), apply(s.HeadersHelper)
	for i := range s.Args {
		s.Args[i] = apply(s.Args[i])
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for name := range texts {
			texts[name] = apply(texts[name])
		}
	}
	return first
}

// Syntax is how a form of files writes variables.
type Syntax struct {
	pattern *regexp.Regexp // its groups are the name, and what follows it as ":-default"
	folders []string       // the words for the workspace's folder
}

// The ways in which other programs write variables.
var (
	braces  = &Syntax{} // ${NAME} and ${NAME:-default}, as here
	dollars = &Syntax{pattern: regexp.MustCompile(`\$(?:\{\{\s*(?:secrets|vars)\.([A-Za-z_]\w*)\s*\}\}|([A-Za-z_]\w*))`)}
	editors = &Syntax{pattern: regexp.MustCompile(`\$\{env:([A-Za-z_]\w*)\}`), folders: []string{"${workspaceFolder}", "${workspaceRoot}"}}
	curly   = &Syntax{pattern: regexp.MustCompile(`\{env:([A-Za-z_]\w*)\}`)}
	none    = &Syntax{} // the file names variables instead of writing them into texts
)

// rewrite returns a text of a form with variables as this package has them.
func (x *Syntax) rewrite(text string) string {
	if x == none {
		return text
	}
	if x.pattern != nil {
		text = x.pattern.ReplaceAllStringFunc(text, func(found string) string {
			for _, name := range x.pattern.FindStringSubmatch(found)[1:] {
				if name != "" {
					return "${" + name + "}"
				}
			}
			return found
		})
	}
	for _, folder := range x.folders {
		text = strings.ReplaceAll(text, folder, ".")
	}
	return text
}

package access

import (
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/permission"
)

// Reader makes the rules of an agent from the fields of its file.
type Reader struct {
	*agentfile.Reader
	Home    string // what "~/" and "$HOME/" mean in patterns
	Nesting bool   // no "task: deny" is added

	Named []Named // what the file names so far, to be allowed
}

// Named is a tool that a file allows by its name.
type Named struct {
	Name  string   // as the file has it
	Tools []string // ours, or patterns over the names of MCP tools; empty means that none does the same
}

// named notes a tool that the file allows.
func (p *Reader) named(name string, tools []string) { p.Named = append(p.Named, Named{name, tools}) }

// Clause is what one item of a file says: one rule or, for some names and
// patterns, several.
type Clause []permission.Rule

// BuiltIn is the file of rules that are not from a file.
const BuiltIn = "built in"

// Anything is the pattern of a rule that holds for every value of its tool.
const Anything = "*"

// rule returns a rule about all uses of a tool, with the place of n.
func (p *Reader) rule(n *yaml.Node, tool string, action permission.Action) permission.Rule {
	r := permission.Rule{Tool: tool, Pattern: Anything, Action: action, Source: permission.Source{File: p.File}}
	if n != nil {
		r.Source.Line, r.Source.Column = n.Line, n.Column
	}
	return r
}

// refusePermission reports an error of package permission about what stands at
// n, at the place that the error names if it does.
func (p *Reader) refusePermission(n *yaml.Node, err error) {
	message, line, column := err.Error(), n.Line, n.Column
	if se, ok := errors.AsType[*permission.SyntaxError](err); ok {
		message = se.Reason
		if se.Source.Line > 0 {
			line, column = se.Source.Line, se.Source.Column
		}
	}
	p.Refuse(diag.PermissionInvalid, line, column, "use allow, deny or ask, per tool or per pattern of a tool", "%s", message)
}

package agentdefs

import (
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/permission"
)

// refusePermission reports an error of package permission about what stands at
// n, at the place that the error names if it does.
func (p *parser) refusePermission(n *yaml.Node, err error) {
	message, line, column := err.Error(), n.Line, n.Column
	if se, ok := errors.AsType[*permission.SyntaxError](err); ok {
		message = se.Reason
		if se.Source.Line > 0 {
			line, column = se.Source.Line, se.Source.Column
		}
	}
	p.refuse(codePermissionInvalid, line, column, "use allow, deny or ask, per tool or per pattern of a tool", "%s", message)
}

package definition

import (
	"regexp"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// keep notes a field without a meaning here.
func (p *parser) keep(d *Definition, e agentfile.Entry) {
	d.Fields = append(d.Fields, OtherField{Name: e.Key, Line: e.Line, Column: e.Column, node: e.Node})
	if restrictsElsewhere(e) {
		p.Report(diag.RestrictionIgnored, e.Line, e.Column, "say it under permission, or do not rely on it", "%s would restrict the agent elsewhere; here it has no effect", e.Key)
		return
	}
	if near := p.Fields.Nearest(e.Key); near != "" && e.Field == agentfile.Unknown {
		p.Report(diag.FieldUnknown, e.Line, e.Column, "write "+near+" if that is meant", "%s is no field that is known; the nearest is %s", spelling.Visible(e.Key), near)
		return
	}
	p.Report(diag.FieldUnsupported, e.Line, e.Column, "", "%s has no meaning here; it is kept", e.Key)
}

// restricting finds, in the form of [spelling.Canonical], the names of fields that
// would take something away, where nothing here does what they say.
var restricting = regexp.MustCompile(`allow|den(?:y|ied)|block|forbid|restrict|sandbox|approv|confirm|isolat|exclu|limit|budget|timeout|maxtime|maxcost|guard|network|readonly|toolssettings|runconfig`)

// restrictsElsewhere reports whether a field that has no meaning here would take
// something away where it has one.
func restrictsElsewhere(e agentfile.Entry) bool {
	return restricting.MatchString(spelling.Canonical(e.Key))
}

// OtherField is a field of a file that has no meaning here, as written.
type OtherField struct {
	Name         string
	Line, Column int // of the name, 1-based

	node *yaml.Node // nil means its value could not be read
}

// Decode stores the field's value in v, as package yaml decodes it. A value
// that could not be read does not change v.
func (f OtherField) Decode(v any) error {
	if f.node == nil {
		return nil
	}
	return f.node.Decode(v)
}

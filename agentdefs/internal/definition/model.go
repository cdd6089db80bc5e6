package definition

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// model returns the model e names: the first one, of a list, that is known. If
// none is, it returns the first one all the same. Opening a session then fails,
// with the reason. "inherit" is the caller's.
func (p *parser) model(e agentfile.Entry) string {
	var names []string
	if e.Node != nil && e.Node.Kind == yaml.SequenceNode {
		names = p.Texts(e)
	} else if s, ok := p.Text(e); ok && s != "" {
		names = []string{s}
	}
	for _, name := range names {
		if strings.EqualFold(name, "inherit") {
			return ""
		}
		if p.knownModel == nil || p.knownModel(name) {
			return name
		}
	}
	if len(names) > 0 {
		p.Report(diag.ModelUnknown, e.Line, e.Column, "name a configured model or alias, or inherit", "the model %q is not known here, or lacks its key; the caller's is used", spelling.Short(names[0]))
		return names[0]
	}
	return ""
}

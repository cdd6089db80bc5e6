package definition

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// model returns the models e names that are known, the best first. If none is, it returns the
// first one all the same. Opening a session then tells why it is not used. "inherit" is the
// caller's, which ends a list.
func (p *parser) model(e agentfile.Entry) (first string, rest []string) {
	var names []string
	if e.Node != nil && e.Node.Kind == yaml.SequenceNode {
		names = p.Texts(e)
	} else if s, ok := p.Text(e); ok && s != "" {
		names = strings.Split(s, ",")
	}
	var known []string
	for _, name := range names {
		if name = strings.TrimSpace(name); strings.EqualFold(name, "inherit") {
			if len(known) == 0 {
				return "", nil
			}
			break
		}
		if name != "" && (p.knownModel == nil || p.knownModel(name)) {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		return known[0], known[1:]
	}
	if len(names) > 0 {
		p.Report(diag.ModelUnknown, e.Line, e.Column, "name a configured model or alias, or inherit", "the model %q is not known here, or lacks its key; the caller's is used", spelling.Short(names[0]))
		return names[0], nil
	}
	return "", nil
}

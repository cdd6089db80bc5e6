package definition

import (
	"bytes"
	"cmp"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

func newParser(file string, opts Options) *parser {
	of, _ := dialect.Of(file)
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: file}, Dialect: of, Fields: vocabulary}
	return &parser{Reader: &access.Reader{Reader: r, Home: opts.Home, Nesting: opts.Nesting}, knownModel: opts.KnownModel, knownSkill: opts.KnownSkill, outside: opts.Outside, maxSteps: cmp.Or(opts.MaxSteps, of.Steps, DefaultMaxSteps)}
}

// Parse reads one agent file. It is pure: no input panics, blocks or takes
// longer than linear time in its size allows for.
func Parse(file string, data []byte, opts Options) Parsed {
	p := newParser(file, opts)
	res := Parsed{File: file}
	if head, ok := p.Header(data); ok {
		p.definition(head, &res)
	} else if p.Refused {
		res.Name = dialect.AgentName(file)
	} else {
		res.Bare, res.Empty = true, len(bytes.Trim(data, "\x00 \t\r\n")) == 0
		if res.Empty && !dialect.IsDocumentation(file) {
			res.Name = dialect.AgentName(file) // the rest may never have been written
		}
	}
	if p.Refused {
		res.Def = nil
	}
	if res.Def != nil {
		res.Digest = DigestOf(res.Def, opts.Home)
	}
	res.Diagnostics = p.Found
	return res
}

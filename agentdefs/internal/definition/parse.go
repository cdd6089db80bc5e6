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
	if opts.Dialect != nil {
		of = *opts.Dialect
	}
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: file}, Dialect: of, Fields: vocabulary}
	return &parser{Reader: &access.Reader{Reader: r, Home: opts.Home, Nesting: opts.Nesting}, knownModel: opts.KnownModel, knownSkill: opts.KnownSkill, outside: opts.Outside, called: opts.called, plugin: opts.Plugin, also: opts.also, open: opts.Open, maxSteps: cmp.Or(opts.MaxSteps, of.Steps, DefaultMaxSteps)}
}

// Parse reads one agent file. It is pure: no input panics, blocks or takes
// longer than linear time in its size allows for.
func Parse(file string, data []byte, opts Options) Parsed {
	opts.Open = bounded(opts.Open)
	p := newParser(file, opts)
	res := Parsed{File: file}
	if head, ok := p.Header(data); ok {
		p.definition(head, &res)
	} else if p.Refused {
		res.Name = p.qualified(p.ownName())
	} else {
		res.Bare, res.Empty = true, len(bytes.Trim(data, "\x00 \t\r\n")) == 0
		if res.Empty && !dialect.IsDocumentation(file) {
			res.Name = p.qualified(p.ownName()) // the rest may never have been written
		}
	}
	return p.result(res, opts)
}

// result completes what a file amounts to.
func (p *parser) result(res Parsed, opts Options) Parsed {
	if p.Refused {
		res.Def = nil
	}
	if res.Def != nil {
		res.Digest = DigestOf(res.Def, opts.Home)
	}
	res.Diagnostics = p.Found
	return res
}

// ownName is what the agent is called where its fields don't say.
func (p *parser) ownName() string { return cmp.Or(p.called, dialect.AgentName(p.File)) }

// qualified is the name of an agent with its plugin's before it.
func (p *parser) qualified(name string) string {
	if p.plugin == "" {
		return name
	}
	return p.plugin + ":" + name
}

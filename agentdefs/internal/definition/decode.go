package definition

import (
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// longDescription is the longest description, in characters, that other tools
// take.
const longDescription = 1024

// definition makes res of the header's fields. What keeps the file from being
// served is reported with refuse. The rest is read all the same, so that an
// author sees all errors at once.
func (p *parser) definition(h agentfile.Header, res *Parsed) {
	d := &Definition{
		Name: p.ownName(), Prompt: h.Body, Mode: Subagent, MaxSteps: p.maxSteps, Timeout: p.Dialect.Timeout,
		File: p.File, Line: h.Line,
	}
	if p.Dialect.Mode != "" {
		d.Mode = Mode(p.Dialect.Mode)
	}
	entries := p.entries(h)
	if h.Root != nil {
		d.Prompt = p.promptField(entries)
	}
	if h.Guessed {
		if m := p.Fields.RestrictingLine(h.Body); m != "" {
			p.Refuse(diag.PermissionInvalid, h.Line, 0, "close the frontmatter with --- below its last field",
				"the end of the frontmatter is not clear, and %q stands behind where it seems to be", m)
		}
	}
	if m := p.Fields.SecondHeader(h.Body); m != "" {
		p.Refuse(diag.PermissionInvalid, h.Below, 0, "write all fields into one frontmatter",
			"%q stands below the frontmatter, which does not count, as if it were a field", m)
	}
	p.name, p.description = agentfile.Entry{Line: h.Line}, agentfile.Entry{Line: h.Line}
	for _, e := range entries {
		if p.Damaged && (strings.ContainsRune(e.Key, utf8.RuneError) || e.Field.Restricts && e.HasReplacement()) {
			p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "save the file as UTF-8", "%q holds characters that could not be decoded", e.Key)
			continue
		}
		ruleList := p.Dialect.PlainPatterns && e.Node != nil && e.Node.Kind == yaml.SequenceNode // opencode 2's
		if e.Misspelled && setters[e.Field.ID] != nil && !ruleList {
			p.Report(diag.FieldMisspelled, e.Line, e.Column, "write "+e.Field.Spellings[0], "%s is taken as %s", spelling.Visible(e.Key), e.Field.Spellings[0])
		}
		if set := setters[e.Field.ID]; set != nil { // it has a meaning here
			set(p, d, e)
		} else {
			p.keep(d, e)
		}
	}
	if p.noModelCall {
		d.Mode = Primary
	}
	p.tellResources(d)
	p.checkName(d.Name)
	d.Name, d.Plugin = p.qualified(d.Name), p.plugin
	res.Name, res.Line, res.Column, res.Disabled = d.Name, p.name.Line, max(p.name.Column, 1), p.disabled
	if p.disabled {
		if !p.Refused {
			p.Report(diag.AgentDisabled, h.Line, 0, "remove disable to use it", "%s is switched off by its file", d.Name)
		}
		return
	}
	p.describe(d)
	if d.Description == "" {
		restricts := slices.ContainsFunc(entries, func(e agentfile.Entry) bool { return e.Field.Restricts })
		if !p.Refused && !restricts { // as good as absent; any other still holds its name
			res.Name = ""
		}
		p.refuseUndescribed(p.description, restricts)
		return
	}
	p.checkFences(h)
	if d.Prompt == "" {
		p.Report(diag.BodyEmpty, h.Line, 0, "write below the frontmatter how the agent should work", "the file has no text below its frontmatter")
	}
	if h.Endless && d.Prompt == "" {
		p.RefuseEndless(h.Line)
	}
	if d.Permission = p.Ruleset(&p.access, d.Mode == Subagent); d.Permission != nil && h.Endless {
		d.Permission = p.WithoutTools(d.Permission, h.Line)
	}
	d.Named = p.Named
	if d.Permission != nil {
		res.Def = d
	}
}

// entries returns the fields of a header. Missing ones come from the list that names the file.
func (p *parser) entries(h agentfile.Header) []agentfile.Entry {
	entries := p.Entries(h)
	p.Preapprove(entries)
	entries = p.Unique(entries)
	for _, e := range p.also {
		if !slices.ContainsFunc(entries, func(have agentfile.Entry) bool { return have.Field == e.Field }) {
			entries = append(entries, e)
		}
	}
	return entries
}

// promptField returns the prompt of a file that has no text beside its fields.
func (p *parser) promptField(entries []agentfile.Entry) string {
	for _, e := range entries {
		if e.Field.ID == promptID && e.Node != nil && e.Node.Kind == yaml.ScalarNode && !agentfile.IsNull(e.Node) {
			return p.promptText(e, strings.TrimSpace(e.Node.Value))
		}
	}
	return ""
}

func (p *parser) refuseUndescribed(e agentfile.Entry, restricts bool) {
	what := "the frontmatter has no description"
	if p.key != "" {
		what = p.key + " has no description"
		if !restricts {
			p.Report(diag.FieldUnsupported, e.Line, e.Column, "add a description if it is an agent", "%s: it changes an agent that is elsewhere, which has no effect here", what)
			return
		}
	}
	if e.Key != "" {
		what = "the description is empty"
	}
	p.Refuse(diag.DescriptionMissing, e.Line, e.Column, "add a line description: that says when to use the agent", "%s, so the file is not an agent", what)
}

var escapes = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t")

// describe turns the literal \n of a description that is not a block into line
// ends, as the tool that writes them means it.
func (p *parser) describe(d *Definition) {
	e := p.description
	if e.Node == nil || e.Node.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.SingleQuotedStyle) == 0 {
		if s := escapes.Replace(d.Description); s != d.Description {
			p.Report(diag.DescriptionEscapes, e.Line, e.Column, "write the description as a block: description: |", `the description holds literal \n, \t or \"; they are taken as what they stand for`)
			d.Description = strings.TrimSpace(s)
		}
	}
	if n := utf8.RuneCountInString(d.Description); n > longDescription {
		p.Report(diag.DescriptionLong, e.Line, e.Column, "move detail to the body", "the description has %d characters; each call of a model pays for them", n)
	}
}

// checkFences reports a code fence in the body that is never closed: all that
// follows is code then, where it was meant to be instructions.
func (p *parser) checkFences(h agentfile.Header) {
	if at, fence := agentfile.OpenFence(h.Body); fence != "" {
		p.Report(diag.BodyFenceUnclosed, h.Below+at, 0, "write "+fence+" on a line of its own where the code ends",
			"the code fence that begins here is not closed, so the rest of the file is code")
	}
}

// Parsed is what one file amounts to. It depends on nothing but the file's
// bytes, its path and the options, so an unchanged file need not be read again.
type Parsed struct {
	File string
	// Name is the agent's name, also where the file is refused: no other
	// definition may quietly replace the one that its author restricted. It is
	// empty if the file has no agent.
	Name         string
	Key          string      // the place of the agent in a file of several, "agent.reviewer"; else empty
	Line, Column int         // of the name, or of the frontmatter
	Def          *Definition // nil means the file serves no agent
	Disabled     bool        // the file switches its name off
	Bare         bool        // there is no frontmatter
	Empty        bool        // there is nothing at all, or only the NULs that a crash may leave
	Diagnostics  []diag.Diagnostic

	// Digest is the digest of def; nil only where def is.
	Digest func() [sha256.Size]byte
}

func (f *Parsed) Has(code string) bool {
	for _, d := range f.Diagnostics {
		if d.Code == code {
			return true
		}
	}
	return false
}

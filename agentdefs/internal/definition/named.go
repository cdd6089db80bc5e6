package definition

import (
	"path"
	"regexp"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/errtext"
)

// fileReference is how opencode's settings name a file whose text is meant.
var fileReference = regexp.MustCompile(`\{file:([^}]+)\}`)

// promptText returns the text that a field of the prompt means: of Kiro's file:// and opencode's
// {file:…} that of the file. A file that can't be read refuses this one: its agent would work
// without instructions.
func (p *parser) promptText(e agentfile.Entry, text string) string {
	if name, ok := strings.CutPrefix(text, "file://"); ok {
		return p.textOf(e, name)
	}
	if !p.Dialect.PlainPatterns { // opencode's alone
		return text
	}
	return strings.TrimSpace(fileReference.ReplaceAllStringFunc(text, func(reference string) string {
		return p.textOf(e, strings.TrimSpace(fileReference.FindStringSubmatch(reference)[1]))
	}))
}

// textOf returns the text of a file that a field names.
func (p *parser) textOf(e agentfile.Entry, name string) string {
	if p.open == nil {
		p.Report(diag.FieldType, e.Line, e.Column, "write the prompt itself", "%s names a file, which is not read", e.Key)
		return ""
	}
	data, _, err := p.open(name)
	if err != nil {
		p.Refuse(diag.FileUnreadable, e.Line, e.Column, "correct the path, or write the prompt itself", "the file %q that %s names cannot be read: %s", name, e.Key, errtext.Of(err))
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD"))
}

// maxResources is how many files an agent is told to read.
const maxResources = 50

// takeResources reads Kiro's list of files. It reads none of them: the agent does, by its rules.
func (p *parser) takeResources(d *Definition, e agentfile.Entry) {
	if !p.Dialect.Asks {
		p.keep(d, e)
		return
	}
	for _, text := range p.Texts(e) {
		_, name, ok := strings.Cut(text, "://")
		scheme := strings.TrimSuffix(text, "://"+name)
		clean := path.Clean(strings.TrimPrefix(name, "./"))
		switch {
		case !ok || scheme != "file" && scheme != "skill", path.IsAbs(clean), strings.HasPrefix(clean, "~"), clean == "..", strings.HasPrefix(clean, "../"), clean == ".":
			p.Report(diag.FieldUnsupported, e.Line, e.Column, "name a file of the workspace: file://README.md", "%s: %q names no file of the workspace, and is left out", e.Key, text)
		case len(p.resources) < maxResources:
			p.resources = append(p.resources, clean)
		}
	}
}

// tellResources tells the agent which files to read.
func (p *parser) tellResources(d *Definition) {
	if len(p.resources) == 0 {
		return
	}
	note := "Before you begin, read these files of the workspace. A pattern stands for all files that it matches.\n- " + strings.Join(p.resources, "\n- ")
	d.Prompt = strings.TrimSpace(d.Prompt + "\n\n" + note)
}

package definition

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/errtext"
)

// Bounds of what a file names.
const (
	maxReferences = 50       // in one prompt
	maxPrompt     = 1 << 20  // bytes of a prompt with the texts that it names
	maxNamed      = 1000     // files that one file names
	maxNamedBytes = 16 << 20 // of all texts that one file names, each as often as it is named
)

// promptSuffixes are the files that a prompt may name: texts. What a repository names is shown to a
// model, whatever rules say about reading.
var promptSuffixes = []string{".md", ".markdown", ".mdx", ".mdc", ".txt", ".prompt"}

// roleSuffixes are the files that Codex's config_file may name.
var roleSuffixes = []string{".toml"}

// fileReference is how opencode's settings name a file whose text is meant.
var fileReference = regexp.MustCompile(`\{file:([^}]+)\}`)

// bounded returns open for the names in one file. It opens each of them once, and no more than the
// bounds say.
func bounded(open OpenFunc) OpenFunc {
	if open == nil {
		return nil
	}
	type key struct{ name, suffixes string }
	type text struct {
		data  []byte
		shown string
		err   error
	}
	known := make(map[key]text)
	bytes := 0
	return func(name string, suffixes []string) ([]byte, string, error) {
		k := key{path.Clean(name), strings.Join(suffixes, ",")}
		got, ok := known[k]
		if !ok {
			if len(known) == maxNamed {
				return nil, name, fmt.Errorf("this file names more than %d files", maxNamed)
			}
			got.data, got.shown, got.err = open(name, suffixes)
			known[k] = got
		}
		if bytes+len(got.data) > maxNamedBytes {
			return nil, got.shown, fmt.Errorf("the texts that this file names have together over %d MiB", maxNamedBytes>>20)
		}
		bytes += len(got.data)
		return got.data, got.shown, got.err
	}
}

// promptText returns the text that a field of the prompt means: of Kiro's file:// and opencode's
// {file:…} that of the file. A file that can't be read refuses this one: its agent would work
// without instructions.
func (p *parser) promptText(e agentfile.Entry, text string) string {
	if name, ok := strings.CutPrefix(text, "file://"); ok {
		named, _ := p.textOf(e, name)
		return named
	}
	if !p.Dialect.PlainPatterns { // opencode's alone
		return text
	}
	found := fileReference.FindAllStringSubmatchIndex(text, maxReferences+1)
	if len(found) > maxReferences {
		p.Refuse(diag.FileUnreadable, e.Line, e.Column, "name fewer files", "%s names more than %d files", e.Key, maxReferences)
		return ""
	}
	var out strings.Builder
	end := 0
	for _, at := range found {
		named, ok := p.textOf(e, strings.TrimSpace(text[at[2]:at[3]]))
		if !ok {
			return ""
		}
		out.WriteString(text[end:at[0]])
		end = at[1]
		if out.Len()+len(named)+len(text)-end > maxPrompt {
			p.Refuse(diag.FileUnreadable, e.Line, e.Column, "shorten the files", "%s and the texts that it names are together longer than %d KiB", e.Key, maxPrompt>>10)
			return ""
		}
		out.WriteString(named)
	}
	out.WriteString(text[end:])
	return strings.TrimSpace(out.String())
}

// textOf returns the text of a file that a field names. false: it can't be read, which is reported.
func (p *parser) textOf(e agentfile.Entry, name string) (string, bool) {
	if p.open == nil {
		p.Report(diag.FieldType, e.Line, e.Column, "write the prompt itself", "%s names a file, which is not read", e.Key)
		return "", false
	}
	data, _, err := p.open(name, promptSuffixes)
	if err != nil {
		p.Refuse(diag.FileUnreadable, e.Line, e.Column, "correct the path, or write the prompt itself", "the file %q that %s names cannot be read: %s", name, e.Key, errtext.Of(err))
		return "", false
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD")), true
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

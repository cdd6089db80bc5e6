package skills

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/termtext"
)

// maxName is how long a name should be, in characters, as the format has it. A longer one is
// warned of.
const maxName = 64

// fields are those that a SKILL.md may have. That on the model is the only one that restricts:
// a file in which it can't be read exactly is no skill.
var fields = agentfile.NewVocabulary([]*agentfile.Field{
	{ID: "name", Spellings: []string{"name"}, Textual: true},
	{ID: "description", Spellings: []string{"description"}, Near: []string{"description"}, Textual: true},
	{ID: noModel, Spellings: []string{noModel}, Near: []string{"disablemodelinvocation"}, Restricts: true, Line: noModel, TakenAs: "true"},
	{ID: "context", Spellings: []string{"context"}, Textual: true},
	{ID: "agent", Spellings: []string{"agent"}, Textual: true},
	{ID: "silent", Each: true, Spellings: []string{"license", "compatibility", "metadata", "version", "user-invocable", "argument-hint"}, Textual: true},
	{ID: "without", Each: true, Spellings: []string{"allowed-tools", "model", "hooks", "effort"}, Textual: true},
})

const noModel = "disable-model-invocation"

var (
	wellNamed = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	usable    = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._-]*$`)
)

// Parse reads a SKILL.md. file is its path as shown, whose last folder names the skill where
// the file does not. No skill: the diagnostics say why. It is pure, and takes any input.
func Parse(file string, data []byte) (*Skill, []Diagnostic) {
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: file}, Fields: fields}
	head, ok := r.Header(data)
	if !ok {
		r.Found = slices.DeleteFunc(r.Found, func(d Diagnostic) bool { return d.Code == diag.FrontmatterMissing })
		if !r.Refused {
			r.Refuse(diag.FileUnreadable, 1, 0, "begin it with ---, name: and description: lines, and ---", "the file has no frontmatter, so it is not a skill")
		}
		return nil, r.Found
	}
	s := &Skill{File: file, Line: head.Line, body: head.Body}
	folder := path.Base(path.Dir(file))
	name, described := agentfile.Entry{Line: head.Line}, agentfile.Entry{Line: head.Line}
	written := folder
	for _, e := range r.Unique(r.Entries(head)) {
		switch e.Field.ID {
		case "name":
			if text, ok := r.Text(e); ok && text != "" {
				name, written = e, text
			}
		case "description":
			described = e
			s.Description, _ = r.Text(e)
		case noModel:
			value, ok := r.Bool(e)
			s.NoModel = value || !ok
		case "context":
			text, _ := r.Text(e)
			s.Fork = strings.EqualFold(text, "fork")
		case "agent":
			text, _ := r.Text(e)
			s.Agent = termtext.OneLine(text, termtext.MaxLabel)
		case "without":
			r.Report(diag.FieldUnsupported, e.Line, e.Column, "", "%s has no effect here: rules alone say what an agent may do", e.Key)
		}
	}
	nameSkill(r, s, name, written, folder)
	describe(r, s, described)
	if s.body == "" {
		r.Report(diag.BodyEmpty, head.Line, 0, "write below the frontmatter what is to be done", "the file has no text below its frontmatter")
	}
	if r.Refused {
		return nil, r.Found
	}
	return s, r.Found
}

// nameSkill gives a skill the name that its file or its folder says.
func nameSkill(r *agentfile.Reader, s *Skill, e agentfile.Entry, written, folder string) {
	s.Name = strings.ToLower(strings.Join(strings.Fields(written), "-"))
	fault, fix := definition.NameFault(written)
	switch {
	case fault != "":
	case !utf8.ValidString(written) || !usable.MatchString(s.Name):
		fault, fix = "has other characters than letters, digits, - and _", "write it in small letters, digits and -"
	}
	if fault != "" {
		r.Refuse(diag.NameInvalid, e.Line, e.Column, fix, "the name %q %s", spelling.Short(written), fault)
		return
	}
	switch {
	case utf8.RuneCountInString(s.Name) > maxName:
		r.Report(diag.NameNotSlug, e.Line, e.Column, "shorten it", "the name has more than %d characters, which other tools don't take", maxName)
	case !wellNamed.MatchString(written):
		r.Report(diag.NameNotSlug, e.Line, e.Column, "", "the name %q is not of the form lower-case-words; the skill is %s here", spelling.Short(written), s.Name)
	}
	if written != folder {
		r.Report(diag.NameDiffers, e.Line, e.Column, "", "the name %q differs from the folder's, %q", spelling.Short(written), spelling.Short(folder))
	}
}

// describe checks the description of a skill, and makes one line of it.
func describe(r *agentfile.Reader, s *Skill, e agentfile.Entry) {
	n := utf8.RuneCountInString(s.Description)
	s.Description = termtext.OneLine(strings.ToValidUTF8(s.Description, "\ufffd"), MaxDescription)
	switch {
	case strings.TrimSpace(s.Description) == "" && e.Key == "":
		r.Refuse(diag.DescriptionMissing, e.Line, e.Column, "add a line description: that says when to use the skill", "the frontmatter has no description, so the file is not a skill")
	case strings.TrimSpace(s.Description) == "":
		r.Refuse(diag.DescriptionMissing, e.Line, e.Column, "say there when to use the skill", "the description is empty, so the file is not a skill")
	case n > MaxDescription:
		r.Report(diag.DescriptionLong, e.Line, e.Column, "move detail to the body", "the description has %d characters, of which the first %d are shown", n, MaxDescription)
	}
}

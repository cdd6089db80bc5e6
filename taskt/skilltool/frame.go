package skilltool

import (
	"fmt"
	"strings"

	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session/conversation"
)

// attribute escapes what may not stand in an attribute or an element.
var attribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

// opening is how the frame of a skill begins.
func opening(name string) string {
	return conversation.LastingOpen + `name="` + attribute.Replace(name) + `">`
}

// frame returns a skill as a model reads it, with a note of the worker's own above its text.
func frame(s *skills.Skill, c *skills.Content, note string) string {
	var b strings.Builder
	b.WriteString(opening(s.Name) + "\n" + note)
	b.WriteString(termtext.EscapeTags(strings.TrimSpace(c.Body)) + "\n")
	if c.Cut {
		fmt.Fprintf(&b, "[It is cut off here: the file has more than %d KiB.]\n", skills.MaxBody>>10)
	}
	fmt.Fprintf(&b, "\nSkill directory: %s\n", attribute.Replace(place(s)))
	if len(c.Files) > 0 {
		fmt.Fprintf(&b, "Read a file in it with the tool %s: {\"name\": %q, \"file\": \"PATH\"}.\n<skill_resources>\n", toolcatalog.Skill, s.Name)
		for _, f := range c.Files {
			fmt.Fprintf(&b, "<file>%s</file>\n", attribute.Replace(f))
		}
		if c.More {
			b.WriteString("[There are more.]\n")
		}
		b.WriteString("</skill_resources>\n")
	}
	return b.String() + conversation.LastingClose
}

// place is the folder of a skill as tools of the model take it.
func place(s *skills.Skill) string {
	if s.User {
		return s.Dir
	}
	return s.Shown()
}

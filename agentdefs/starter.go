package agentdefs

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

//go:embed starter/*.md
var starterFiles embed.FS

// Roles are the agents that [Starter] has a file for.
func Roles() []string { return []string{"plan", "review", "implementer", "verifier"} }

// Starter returns the text of an agent file to begin with: one of the [Roles],
// or with an empty role a template whose comments say what can be written. Its
// agent is called name, or like the role where name is empty. A name that would
// make no file of its own, or a role that does not exist, is an error.
func Starter(role, name string) (string, error) {
	file := role
	switch {
	case role == "" && name == "":
		return "", fmt.Errorf("an agent needs a name, or a role (%s)", strings.Join(Roles(), ", "))
	case role == "":
		file = "template"
	case !slices.Contains(Roles(), role):
		return "", fmt.Errorf("there is no role %q; use %s", role, strings.Join(Roles(), ", "))
	}
	if name == "" {
		name = role
	}
	if err := CheckFileName(name); err != nil {
		return "", err
	}
	data, err := starterFiles.ReadFile("starter/" + file + ".md")
	if err != nil {
		return "", fmt.Errorf("reading the starter file: %w", err)
	}
	written, err := yaml.Marshal(name)
	if err != nil {
		return "", fmt.Errorf("writing the name %q: %w", name, err)
	}
	text := nameField.ReplaceAllLiteralString(string(data), "name: "+strings.TrimSpace(string(written)))
	if role != "" && name != role { // the aliases are those of the role's own agent
		text = aliasesField.ReplaceAllString(text, "")
	}
	return text, nil
}

var (
	nameField    = regexp.MustCompile(`(?m)^name: .*$`)
	aliasesField = regexp.MustCompile(`(?m)^aliases: .*\n`)
)

// maxFileName is the longest name of an agent that gets a file, in bytes:
// with ".md" it fits into 255.
const maxFileName = 200

// CheckFileName reports why name can't be that of an agent and of its file.
func CheckFileName(name string) error {
	fault, fix := definition.NameFault(name)
	switch {
	case strings.TrimSpace(name) == "":
		fault, fix = "is empty", "name the agent"
	case strings.TrimSpace(name) != name:
		fault, fix = "begins or ends with a blank", "remove it"
	case fault != "":
	case strings.ContainsAny(name, `/\:`):
		fault, fix = "holds a path separator", "name the agent, not its file"
	case strings.HasPrefix(name, "."):
		fault, fix = "begins with a dot, and such files are passed over", "begin with a letter"
	case len(name) > maxFileName:
		fault, fix = fmt.Sprintf("has more than %d bytes", maxFileName), "shorten it"
	case strings.HasSuffix(strings.ToLower(name), ".md"):
		fault, fix = "ends in .md", "leave that out"
	}
	if fault != "" {
		return fmt.Errorf("the name %q %s; %s", spelling.Short(name), fault, fix)
	}
	return nil
}

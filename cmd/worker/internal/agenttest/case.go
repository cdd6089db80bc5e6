// Package agenttest has the command 'worker test': test cases of agents, played from
// recordings, with what is expected of them.
package agenttest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/session/record"
)

// Case is a case of a file: one document of its YAML.
type Case struct {
	file string // as it is shown
	root string // of the workspace
	line int    // where the document begins

	script *recording.Script // answers instead of the model; nil means that nobody does

	Name      value[string]        `yaml:"name"`  // default: the file's, without its extension
	Agent     value[string]        `yaml:"agent"` // required
	Prompt    value[string]        `yaml:"prompt"`
	Recording value[string]        `yaml:"recording"` // relative to the file; default without a model: recordings/NAME.json
	Model     value[string]        `yaml:"model"`     // as --model has it; a script of replay/ is relative to the file
	Workspace value[string]        `yaml:"workspace"` // the folder that is copied, relative to the file; default: the workspace
	Files     map[string]string    `yaml:"files"`     // written into the copy
	Rules     value[yaml.Node]     `yaml:"permissions"`
	Approve   bool                 `yaml:"approve"`  // what the rules ask is allowed
	Timeout   value[time.Duration] `yaml:"timeout"`  // default: --timeout
	PassRate  value[float64]       `yaml:"passRate"` // the share of trials that must pass; default 1
	Expect    Expect               `yaml:"expect"`
}

// Expect is what is expected of a run. An absent field expects nothing, except for Status,
// which defaults to completed.
type Expect struct {
	Status    value[string]    `yaml:"status"`
	Contains  texts            `yaml:"contains"` // of the answer, or of the error of a task that has failed
	Matches   texts            `yaml:"matches"`
	Equals    *value[string]   `yaml:"equals"`
	JSON      value[yaml.Node] `yaml:"json"`  // path: value
	Tools     texts            `yaml:"tools"` // that are called, by the agent or a subagent of it
	NotTools  texts            `yaml:"notTools"`
	Order     texts            `yaml:"order"`   // of the first calls of these tools
	Denials   *denials         `yaml:"denials"` // how many calls, or of which tools
	Changed   *texts           `yaml:"changed"` // the files of the copy that differ at the end
	MaxTokens value[int64]     `yaml:"maxTokens"`
}

// value is a value with the line that has it; 0 means none has.
type value[T any] struct {
	V    T
	line int
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (v *value[T]) UnmarshalYAML(n *yaml.Node) error {
	v.line = n.Line
	return n.Decode(&v.V)
}

// texts are one text or several.
type texts struct{ all []value[string] }

// UnmarshalYAML implements [yaml.Unmarshaler].
func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		t.all = make([]value[string], 1)
		return t.all[0].UnmarshalYAML(n)
	}
	t.all = []value[string]{}
	return n.Decode(&t.all)
}

// denials are a number of calls that were denied, or the tools of them.
type denials struct {
	line  int
	count int
	tools []string // nil: any
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *denials) UnmarshalYAML(n *yaml.Node) error {
	d.line = n.Line
	if n.Kind == yaml.SequenceNode {
		d.tools = []string{}
		return n.Decode(&d.tools)
	}
	return n.Decode(&d.count)
}

// maxFile bounds a file of cases, in bytes.
const maxFile = 1 << 20

// Find returns the cases of files, and of all .yaml and .yml files of folders. root is the
// folder of the workspace. The error has everything that is wrong with them, a line each.
func Find(root string, paths []string) ([]*Case, error) {
	var all []*Case
	var wrong []error
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			wrong = append(wrong, err)
			continue
		} else if info.IsDir() {
			entries, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			files = nil
			for _, e := range entries {
				if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
					files = append(files, filepath.Join(path, e.Name()))
				}
			}
		}
		for _, file := range files {
			cases, err := load(root, file)
			all = append(all, cases...)
			if err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	if len(all) == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("%s: no test cases (*.yaml)", strings.Join(paths, ", ")))
	}
	return all, errors.Join(wrong...)
}

func load(root, file string) ([]*Case, error) {
	if _, err := inRepository(root, file, file); err != nil {
		return nil, err
	}
	data, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, err
	}
	return Parse(root, file, data)
}

// inRepository returns the absolute path of a file, which need not exist. It returns an error
// unless the file is in the workspace, in the repository of its case, or beside the case.
// Cases may be a stranger's, and name only what is theirs.
func inRepository(root, cases, file string) (string, error) {
	ws, err := workspace.Find(&workspace.Options{Dir: filepath.Dir(cases)})
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	// Symlinks of what exists are resolved; what does not exist has none.
	real, missing := path, ""
	for {
		r, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(r, missing)
			break
		}
		if !errors.Is(err, os.ErrNotExist) || filepath.Dir(real) == real {
			return "", err
		}
		if _, err := os.Lstat(real); err == nil {
			return "", fmt.Errorf("%s is a symlink to what does not exist", real)
		}
		real, missing = filepath.Dir(real), filepath.Join(filepath.Base(real), missing)
	}
	if !within(root, real) && !within(ws.Root, real) {
		return "", fmt.Errorf("%s is outside of %s, the repository of the test", real, ws.Root)
	}
	return path, nil
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Parse reads the cases of a file.
func Parse(root, file string, data []byte) ([]*Case, error) {
	dec, nodes := yaml.NewDecoder(bytes.NewReader(data)), yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var all []*Case
	var wrong []error
	for {
		var node yaml.Node
		err := nodes.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, errors.Join(wrong...)
		}
		if err != nil {
			return all, errors.Join(append(wrong, withLine(file, 1, err))...)
		}
		c := &Case{file: file, root: root, line: max(1, node.Line)}
		if len(node.Content) > 0 {
			c.line = node.Content[0].Line
		}
		err = dec.Decode(c)
		if err == nil {
			err = c.check()
		} else {
			err = withLine(file, c.line, err)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, c)
	}
}

// What errors of YAML look like.
var (
	atLine  = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknown = regexp.MustCompile(`field (.*) not found in type .*`)
)

// withLine gives errors of YAML their file and line.
func withLine(file string, line int, err error) error {
	messages := []string{err.Error()}
	if types, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = types.Errors
	}
	var all []error
	for _, m := range messages {
		at := line
		if found := atLine.FindStringSubmatch(m); found != nil {
			at, _ = strconv.Atoi(found[1]) // digits
			m = found[2]
		}
		m = unknown.ReplaceAllString(m, "unknown field $1 (docs/guide/test-agents.md lists all)")
		all = append(all, fmt.Errorf("%s:%d: %s", file, at, m))
	}
	return errors.Join(all...)
}

// statuses are the statuses that a run can end with.
var statuses = []string{string(record.Completed), string(record.Failed), string(record.TimedOut), string(record.Cancelled)}

// check returns what is wrong with a case, and fills in what it leaves out.
func (c *Case) check() error {
	var wrong []error
	fail := func(line int, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s:%d: %s", c.file, cmp.Or(line, c.line), fmt.Sprintf(format, args...)))
	}
	if c.Name.V == "" {
		c.Name.V = strings.TrimSuffix(filepath.Base(c.file), filepath.Ext(c.file))
	}
	if c.Agent.V == "" {
		fail(c.Agent.line, "agent is missing: the name of the agent that is tested")
	}
	if strings.TrimSpace(c.Prompt.V) == "" {
		fail(c.Prompt.line, "prompt is missing: what the agent is to do")
	}
	if c.Expect.Status.V == "" {
		c.Expect.Status.V = string(record.Completed)
	}
	if !slices.Contains(statuses, c.Expect.Status.V) {
		fail(c.Expect.Status.line, "unknown status %q (use %s)", c.Expect.Status.V, strings.Join(statuses, ", "))
	}
	for _, m := range c.Expect.Matches.all {
		if _, err := regexp.Compile(m.V); err != nil {
			fail(m.line, "matches: %v", err)
		}
	}
	if c.Expect.JSON.line > 0 && c.Expect.JSON.V.Kind != yaml.MappingNode {
		fail(c.Expect.JSON.line, "json is not a mapping of paths to values")
	}
	if c.Rules.line > 0 && c.Rules.V.Kind != yaml.MappingNode && c.Rules.V.Kind != yaml.ScalarNode {
		fail(c.Rules.line, "permissions is neither a mapping nor a word")
	}
	if r := c.PassRate; r.line > 0 && (r.V <= 0 || r.V > 1) {
		fail(r.line, "passRate %v is not above 0 and up to 1", r.V)
	}
	if c.PassRate.line == 0 {
		c.PassRate.V = 1
	}
	if c.Recording.V == "" && c.Model.V == "" {
		c.Recording.V = "recordings/" + strings.Trim(notInName.ReplaceAllString(strings.ToLower(c.Name.V), "-"), "-") + ".json"
	}
	c.Recording.V = named(fail, c, &c.Recording)
	c.Workspace.V = named(fail, c, &c.Workspace)
	if script, ok := strings.CutPrefix(c.Model.V, "replay/"); ok {
		script := value[string]{V: script, line: c.Model.line}
		c.Model.V = "replay/" + named(fail, c, &script)
	}
	for name := range c.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			fail(0, "files: the path %q is not one in the workspace", name)
		}
	}
	return errors.Join(wrong...)
}

// named returns the absolute path of a file that a case names, which is relative to the
// case's own. "" stays so.
func named(fail func(line int, format string, args ...any), c *Case, name *value[string]) string {
	if name.V == "" {
		return ""
	}
	path := filepath.FromSlash(name.V)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.file), path)
	}
	path, err := inRepository(c.root, c.file, path)
	if err != nil {
		fail(name.line, "%v", err)
	}
	return path
}

// notInName matches what the name of a recording can't have.
var notInName = regexp.MustCompile(`[^A-Za-z0-9]+`)

package agenttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
)

// outcome is the result of a run.
type outcome struct {
	document taskt.Document
	calls    []called // of the agent and its subagents, in their order
	changed  []string // files
	tokens   int64
	differs  []string // from the recording

	results map[string]result // of a case with a script, as of a session
}

// called is a tool call that was made.
type called struct {
	tool   string
	denied bool
}

// Failure is an expectation that does not hold.
type Failure struct {
	Line    int    `json:"line"` // of the file
	Message string `json:"message"`
}

// failures returns the expectations of a case that do not hold.
func (c *Case) failures(o *outcome) []Failure {
	j := &checker{e: &c.Expect, o: o, text: o.document.Text + o.document.Error}
	for _, d := range o.differs {
		j.fail(cmp.Or(c.Recording.line, c.line), "it departs from the recording at %s", d)
	}
	if len(o.differs) > 0 { // all else follows from it
		return j.failures
	}
	if got := string(o.document.Status); got != c.Expect.Status.V {
		j.fail(c.Expect.Status.line, "the task is %s, not %s: %s", got, c.Expect.Status.V, short(j.text))
	}
	j.answer()
	j.json()
	j.tools()
	j.effects()
	for i := range j.failures {
		if j.failures[i].Line == 0 {
			j.failures[i].Line = c.line
		}
	}
	return j.failures
}

// checker compares a run with expectations.
type checker struct {
	e        *Expect
	o        *outcome
	text     string // the answer, or the error
	failures []Failure
}

func (j *checker) fail(line int, format string, args ...any) {
	j.failures = append(j.failures, Failure{line, fmt.Sprintf(format, args...)})
}

// short is a text as a failure shows it.
func short(text string) string { return termtext.OneLine(text, termtext.MaxCause) }

func (j *checker) answer() {
	for _, want := range j.e.Contains.all {
		if !strings.Contains(j.text, want.V) {
			j.fail(want.line, "the answer does not contain %q: %s", short(want.V), short(j.text))
		}
	}
	for _, want := range j.e.Matches.all {
		if !regexp.MustCompile(want.V).MatchString(j.text) {
			j.fail(want.line, "the answer does not match %q: %s", short(want.V), short(j.text))
		}
	}
	if want := j.e.Equals; want != nil && strings.TrimSpace(j.text) != strings.TrimSpace(want.V) {
		j.fail(want.line, "the answer is not %q: %s", short(want.V), short(j.text))
	}
}

// fenced is an answer that is a block of JSON.
var fenced = regexp.MustCompile("(?s)^```(?:json)?\n(.*)\n```$")

func (j *checker) json() {
	if j.e.JSON.line == 0 {
		return
	}
	text := strings.TrimSpace(j.text)
	if m := fenced.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	var answer any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		j.fail(j.e.JSON.line, "the answer is no JSON (%v): %s", err, short(j.text))
		return
	}
	pairs := j.e.JSON.V.Content
	for i := 0; i+1 < len(pairs); i += 2 {
		path, want := pairs[i], value[yaml.Node]{}
		wanted, err := plain(pairs[i+1])
		got, ok := at(answer, path.Value)
		want.line = path.Line
		switch {
		case err != nil:
			j.fail(want.line, "%s: the value is no JSON: %v", path.Value, err)
		case !ok:
			j.fail(want.line, "the answer has no %s: %s", path.Value, short(j.text))
		case !reflect.DeepEqual(got, wanted):
			is, _ := json.Marshal(got) // they come from JSON
			was, _ := json.Marshal(wanted)
			j.fail(want.line, "%s is %s, not %s", path.Value, short(string(is)), short(string(was)))
		}
	}
}

// plain returns a value of YAML as JSON has it.
func plain(n *yaml.Node) (any, error) {
	var v, back any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return back, json.Unmarshal(data, &back)
}

// at returns the value at a path such as files[0].name; "." is the whole.
func at(v any, path string) (any, bool) {
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	for name := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		switch in := v.(type) {
		case map[string]any:
			found, ok := in[name]
			if !ok && name != "" {
				return nil, false
			}
			if name != "" {
				v = found
			}
		case []any:
			i, err := strconv.Atoi(name)
			if name != "" && (err != nil || i < 0 || i >= len(in)) {
				return nil, false
			}
			if name != "" {
				v = in[i]
			}
		default:
			return v, name == ""
		}
	}
	return v, true
}

func (j *checker) tools() {
	var names []string
	for _, c := range j.o.calls {
		names = append(names, c.tool)
	}
	made := "none was called"
	if len(names) > 0 {
		made = "called were " + short(strings.Join(names, ", "))
	}
	for _, want := range j.e.Tools.all {
		if !slices.Contains(names, want.V) {
			j.fail(want.line, "%s was not called: %s", want.V, made)
		}
	}
	for _, not := range j.e.NotTools.all {
		if slices.Contains(names, not.V) {
			j.fail(not.line, "%s was called: %s", not.V, made)
		}
	}
	from := 0
	for _, want := range j.e.Order.all {
		i := slices.Index(names[from:], want.V)
		if i < 0 {
			j.fail(want.line, "%s was not called in this order: %s", want.V, made)
			return
		}
		from += i + 1
	}
}

func (j *checker) effects() {
	denied := []string{}
	for _, c := range j.o.calls {
		if c.denied {
			denied = append(denied, c.tool)
		}
	}
	if d := j.e.Denials; d != nil {
		slices.Sort(denied)
		switch wanted := slices.Sorted(slices.Values(d.tools)); {
		case d.tools == nil && len(denied) != d.count:
			j.fail(d.line, "%s denied, not %d: %s", termtext.Plural(len(denied), "call was", "calls were"), d.count, strings.Join(denied, ", "))
		case d.tools != nil && !slices.Equal(wanted, denied):
			j.fail(d.line, "denied were calls of [%s], not of [%s]", strings.Join(denied, ", "), strings.Join(wanted, ", "))
		}
	}
	if c := j.e.Changed; c != nil {
		var wanted []string
		line := 0
		for _, name := range c.all {
			wanted = append(wanted, name.V)
			line = name.line
		}
		if slices.Sort(wanted); !slices.Equal(wanted, j.o.changed) {
			j.fail(line, "changed are the files [%s], not [%s]", short(strings.Join(j.o.changed, ", ")), strings.Join(wanted, ", "))
		}
	}
	if most := j.e.MaxTokens; most.line > 0 && j.o.tokens > most.V {
		j.fail(most.line, "%d tokens were used, more than %d", j.o.tokens, most.V)
	}
}

package offlinemodel

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

const (
	taskTool     = "task"
	maxParallel  = 4  // tasks of one turn
	maxQuestions = 12 // tasks of one prompt; a longer list goes to one agent as it is
	maxTaskName  = 5  // words of a description after the first
)

// delegate hands the questions of the prompt to subagents, and their answers
// on. It reports false where there is no task tool, nor an answer of one, or
// where all tasks have failed and there are tools to search with instead.
func delegate(tools toolbox, talk *conversation) (turn, bool) {
	var outcomes []outcome
	asked := 0
	for _, step := range talk.done {
		for _, e := range step {
			if e.call.tool == taskTool {
				asked++
				outcomes = append(outcomes, readOutcome(e.call.args.Prompt, e.text, e.isError))
			}
		}
	}
	for _, text := range talk.background {
		outcomes = append(outcomes, readOutcome("", text, false))
	}
	if !tools.has(taskTool) && len(outcomes) == 0 {
		return turn{}, false
	}
	failed := len(outcomes) > 0 && !slices.ContainsFunc(outcomes, func(o outcome) bool { return !o.failed })
	if failed && (tools.has("grep") || tools.has("read_file")) {
		return turn{}, false
	}
	todo := questions(talk.prompt)
	if todo = todo[min(asked, len(todo)):]; !failed && len(todo) > 0 && tools.has(taskTool) {
		return askAgents(tools, talk.prompt, todo[:min(len(todo), maxParallel)]), true
	}
	return turn{text: handOn(outcomes, len(todo)) + "\n\n" + Note}, true
}

func askAgents(tools toolbox, prompt string, todo []string) turn {
	agent := chooseAgent(tools, prompt)
	t := turn{reasoning: fmt.Sprintf("Handing %d questions to subagents.", len(todo))}
	if len(todo) == 1 {
		t.reasoning = "Handing the question to a subagent."
	}
	for _, q := range todo {
		t.calls = append(t.calls, call{taskTool, arguments{Description: describe(q), Prompt: q, AgentType: agent}})
	}
	return t
}

// chooseAgent returns the agent that the prompt names, else explore, else the
// first there is.
func chooseAgent(tools toolbox, prompt string) string {
	var agents []string
	for _, v := range tools[taskTool].Properties["agentType"].Enum {
		if s, ok := v.(string); ok && s != "" {
			agents = append(agents, s)
		}
	}
	for _, a := range agents {
		name := regexp.QuoteMeta(a)
		asked, err := regexp.Compile(`(?i)(?:^|\s)(?:@` + name + `\b|(?:sub)?agent\s+["'` + "`" + `]?` + name + `\b|["'` + "`" + `]?` + name + `["'` + "`" + `]?\s+(?:sub)?agent\b)`)
		if err == nil && asked.MatchString(prompt) {
			return a
		}
	}
	if len(agents) == 0 || slices.Contains(agents, "explore") {
		return "explore"
	}
	return agents[0]
}

// describe names a task in 3 to 6 words.
func describe(question string) string {
	var words []string
	q := parseQuery(question, "")
	for _, p := range q.paths {
		words = append(words, p.path)
	}
	for _, t := range q.strong() {
		if !slices.Contains(words, t.text) {
			words = append(words, strings.Fields(t.text)...)
		}
	}
	if len(words) < 2 {
		words = strings.Fields(question)
	}
	for i, w := range words {
		words[i] = cut(w, 40)
	}
	words = append([]string{"Find:"}, words[:min(len(words), maxTaskName)]...)
	if len(words) < 3 {
		return "Answer the question"
	}
	return strings.Join(words, " ")
}

// outcome is what came of a task.
type outcome struct {
	question string
	agent    string
	text     string
	failed   bool
}

var agentAttribute = regexp.MustCompile(`\bagent="([^"]*)"`)

// readOutcome reads a task's result element. Text that is none is taken as it
// is. The body stays as it is, but for our note below it: the answer has its
// own.
func readOutcome(question, text string, isError bool) outcome {
	o := outcome{question: question, text: strings.TrimSpace(text), failed: isError}
	if m := taskOutcome.FindStringSubmatch(text); m != nil {
		o.failed = o.failed || m[1] == "error"
		o.text = strings.TrimSpace(m[3])
		if a := agentAttribute.FindStringSubmatch(m[2]); a != nil {
			o.agent = html.UnescapeString(a[1])
		}
	}
	o.text = strings.TrimSpace(strings.TrimSuffix(o.text, Note))
	return o
}

// handOn puts the answers of the tasks together.
func handOn(outcomes []outcome, left int) string {
	var b strings.Builder
	if len(outcomes) == 0 {
		b.WriteString("There is no question to hand to an agent: the prompt is empty.\n\n")
	}
	for i, o := range outcomes {
		if len(outcomes) > 1 {
			title := o.question
			if title == "" {
				title = "Task"
			}
			fmt.Fprintf(&b, "## %d. %s\n\n", i+1, oneLine(title))
		}
		b.WriteString(o.report() + "\n\n")
	}
	if left > 0 && len(outcomes) > 0 {
		fmt.Fprintf(&b, "%d more of the questions were not asked.\n\n", left)
	}
	return strings.TrimSpace(b.String())
}

// report is the answer, or what went wrong.
func (o outcome) report() string {
	switch {
	case !o.failed && o.text == "":
		return "The agent has given no answer."
	case !o.failed:
		return o.text
	case o.agent != "":
		return fmt.Sprintf("The task of agent %s failed: %s", code(o.agent), o.text)
	}
	return "The task failed: " + o.text
}

// taskFailures tells of the tasks of a conversation that have failed.
func taskFailures(talk *conversation) string {
	var lines []string
	for _, step := range talk.done {
		for _, e := range step {
			if o := readOutcome("", e.text, e.isError); e.call.tool == taskTool && o.failed {
				lines = append(lines, o.report())
			}
		}
	}
	return strings.Join(slices.Compact(lines), "\n")
}

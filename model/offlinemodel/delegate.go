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
)

var (
	taskOutcome    = regexp.MustCompile(`(?s)^\s*<task_(result|error)\b([^>]*)>\n?(.*?)\n?</task_(?:result|error)>\s*$`)
	agentAttribute = regexp.MustCompile(`\bagent="([^"]*)"`)
	listItem       = regexp.MustCompile(`^\s{0,3}(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-z]\)|[Qq]\d{1,2}[:.)])\s+(\S.*)$`)
	refersTo       = regexp.MustCompile(`(?i)\b(it|its|they|them|their|this|that|these|those)\b`)
	sentence       = regexp.MustCompile(`(?s)\S.*?(?:[.?!]+(?:\s+|$)|$)`)
)

// delegate hands the questions of the prompt to subagents, and their answers
// on. It reports false where there is no task tool, nor an answer of one, or
// where all tasks have failed and there are tools to search with instead.
func delegate(tools toolbox, talk *conversation) (turn, bool) {
	outcomes := outcomesOf(talk)
	asked := len(outcomes)
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
	if todo = todo[min(asked, len(todo)):]; failed || len(todo) == 0 || !tools.has(taskTool) {
		return turn{text: handOn(outcomes, len(todo))}, true
	}
	t := turn{reasoning: fmt.Sprintf("Handing questions to subagents: %d.", len(todo))}
	for _, q := range todo[:min(len(todo), maxParallel)] {
		t.calls = append(t.calls, call{taskTool, arguments{Description: describe(q), Prompt: q, AgentType: chooseAgent(tools, talk.prompt)}})
	}
	return t, true
}

// chooseAgent returns the agent that the prompt names, else explore, else the
// first there is.
func chooseAgent(tools toolbox, prompt string) string {
	var agents []string
	for _, v := range tools[taskTool]["agentType"].Enum {
		if s, ok := v.(string); ok && s != "" {
			agents = append(agents, s)
		}
	}
	for _, a := range agents {
		quoted := "[\"'`]?" + regexp.QuoteMeta(a) + "[\"'`]?"
		if ok, err := regexp.MatchString(`(?i)(?:^|\s)(?:@`+quoted+`|(?:sub)?agent\s+`+quoted+`|`+quoted+`\s+(?:sub)?agent)(?:\W|$)`, prompt); ok && err == nil {
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
	q := parseQuery(question, "")
	words := []string{"Find:"}
	for _, t := range q.strong() {
		words = append(words, strings.Fields(cut(t.text, 40))...)
	}
	if len(words) < 3 {
		words = append(words[:1], strings.Fields(question)...)
	}
	if len(words) < 3 {
		return "Answer the question"
	}
	return strings.ToValidUTF8(strings.Join(words[:min(len(words), 6)], " "), "")
}

// outcome is what came of a task.
type outcome struct {
	question, agent, text string
	failed                bool
}

// outcomesOf returns what came of the tasks that the conversation waited for.
func outcomesOf(talk *conversation) (out []outcome) {
	for _, step := range talk.done {
		for _, e := range step {
			if e.call.tool == taskTool {
				out = append(out, readOutcome(e.call.args.Prompt, e.text, e.isError))
			}
		}
	}
	return out
}

// readOutcome reads a task's result element. Text that is none is taken as it
// is. The body stays as it is, but for our note below it.
func readOutcome(question, text string, isError bool) outcome {
	o := outcome{question: question, text: strings.TrimSpace(text), failed: isError}
	if m := taskOutcome.FindStringSubmatch(text); m != nil {
		o.failed, o.text = o.failed || m[1] == "error", strings.TrimSpace(m[3])
		if a := agentAttribute.FindStringSubmatch(m[2]); a != nil {
			o.agent = html.UnescapeString(a[1])
		}
	}
	o.text = strings.TrimSpace(strings.TrimSuffix(o.text, Note))
	return o
}

// handOn puts the answers of the tasks together.
func handOn(outcomes []outcome, left int) string {
	if len(outcomes) == 0 {
		return "There is no question to hand to an agent: the prompt is empty."
	}
	var sections []string
	for i, o := range outcomes {
		if len(outcomes) > 1 {
			title := "Task"
			if o.question != "" {
				title = oneLine(o.question)
			}
			sections = append(sections, fmt.Sprintf("## %d. %s", i+1, title))
		}
		sections = append(sections, o.report())
	}
	if left > 0 {
		sections = append(sections, fmt.Sprintf("%d more of the questions were not asked.", left))
	}
	return strings.Join(sections, "\n\n")
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

// questions splits a prompt into what different agents can work on: the items
// of the list that ends it, or several sentences that ask. What stands before
// them goes to each. An empty prompt gives none.
func questions(prompt string) []string {
	var before, out []string
	list, code := false, strings.Contains(prompt, "```") // what looks like a list may be code
	for line := range strings.Lines(prompt) {
		line = strings.TrimRight(line, "\r\n")
		m := listItem.FindStringSubmatch(line)
		switch {
		case m != nil:
			list, out = true, append(out, strings.TrimSpace(m[1]))
		case !list:
			before = append(before, line)
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "  "), strings.HasPrefix(line, "\t"):
			out[len(out)-1] += "\n" + strings.TrimSpace(line)
		default:
			code = true // something follows the list
		}
	}
	if len(out) < 2 || code {
		before, out = nil, nil
		for _, s := range sentence.FindAllString(prompt, -1) {
			q := parseQuery(s, "")
			n := len(q.strong()) + len(q.paths)
			switch s = strings.TrimSpace(s); {
			case len(out) > 0 && (!strings.HasSuffix(s, "?") || n == 0 || n < 2 && refersTo.MatchString(s)):
				out[len(out)-1] += " " + s // it cannot stand by itself
			case strings.HasSuffix(s, "?"):
				out = append(out, s)
			default:
				before = append(before, s)
			}
		}
	}
	switch {
	case prompt == "":
		return nil
	case len(out) < 2 || len(out) > maxQuestions:
		return []string{prompt}
	}
	context := strings.TrimSpace(strings.Join(before, "\n"))
	if q := parseQuery(context, ""); len(q.terms)+len(q.paths) > 0 {
		for i := range out {
			out[i] = context + "\n\n" + out[i]
		}
	}
	return out
}

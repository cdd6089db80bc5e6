package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

const taskTool = "task"

var (
	taskOutcome = regexp.MustCompile(`(?s)^\s*<task_(result|error)\b[^>]*>\n?(.*?)\n?</task_(?:result|error)>\s*$`)
	wantsJSON   = regexp.MustCompile(`must be one JSON value and nothing else\b.*\bJSON Schema`)
)

// refuse answers at once what a search is no answer to: a request for a change,
// and one for an answer in a form that a search cannot give. "": neither.
func refuse(req *model.Request, prompt string) string {
	if wantsJSON.MatchString(req.System) {
		return "This agent's answer must satisfy a JSON Schema, and the offline model cannot fill in a schema: " +
			"it only searches, and quotes what it finds. Nothing was looked up."
	}
	for matches("politeness", prompt) {
		prompt = patterns["politeness"].ReplaceAllString(prompt, "")
	}
	prompt = strings.TrimSpace(prompt)
	verb := patterns["change"].FindString(prompt)
	if verb == "" || matches("words", prompt) {
		return ""
	}
	return "This asks to " + strings.ToLower(verb) + " something, and the offline model cannot do that: " +
		"it changes no file and runs no command, it only searches. Nothing was changed. " +
		"Ask it where something is or how it works, or set a key for a language model."
}

// delegate hands the prompt to a subagent, and its answer on. It reports false
// where there is no task tool, nor an answer of one, or where the tasks have
// failed and there are tools to search with instead.
func delegate(tools toolbox, talk *conversation) (turn, bool) {
	worked := slices.ContainsFunc(talk.tasks, func(o outcome) bool { return !o.failed })
	switch {
	case len(talk.tasks) > 0 && !worked && (tools.has("grep") || tools.has("read_file")):
		return turn{}, false
	case len(talk.tasks) > 0:
		return turn{text: reports(talk.tasks)}, true
	case !tools.has(taskTool) || talk.prompt == "":
		return turn{}, false
	}
	agent := chooseAgent(tools[taskTool], talk.prompt)
	words := strings.Fields(strings.ToValidUTF8(cut(talk.prompt, 60), ""))
	if len(words) < 3 {
		words = strings.Fields("Answer the question")
	}
	args := arguments{Description: strings.Join(words[:min(len(words), 6)], " "), Prompt: talk.prompt, AgentType: agent}
	return turn{reasoning: "Handing the question to a subagent.", calls: []call{{taskTool, args}}}, true
}

// chooseAgent returns the agent that the prompt names, else explore, else the
// first there is.
func chooseAgent(agents []string, prompt string) string {
	for _, a := range agents {
		name := regexp.QuoteMeta(a)
		if regexp.MustCompile(`(?i)@` + name + `\b|\bagent ` + name + `\b|\b` + name + ` (sub)?agent\b`).MatchString(prompt) {
			return a
		}
	}
	if len(agents) == 0 || slices.Contains(agents, "explore") {
		return "explore"
	}
	return agents[0]
}

// outcome is what came of a task.
type outcome struct {
	text   string
	failed bool
}

// readOutcome reads a task's result element. Text that is none is taken as it
// is. The body stays as it is, but for our note below it.
func readOutcome(text string, isError bool) outcome {
	if m := taskOutcome.FindStringSubmatch(text); m != nil {
		isError, text = isError || m[1] == "error", m[2]
	}
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), Note))
	if isError {
		text = "The task failed: " + text
	}
	return outcome{cmp.Or(text, "The agent has given no answer."), isError}
}

// reports returns the texts of the outcomes, one after the other.
func reports(outcomes []outcome) string {
	var texts []string
	for _, o := range outcomes {
		texts = append(texts, o.text)
	}
	return strings.Join(texts, "\n\n")
}

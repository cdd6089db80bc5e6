package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
)

// Secrets is what a person is told at each door who answers an agent.
const Secrets = "The answer goes to the agent's model: give no password and no key."

// Ask is what an agent asks as a door shows it: the agent's own words.
type Ask struct {
	Question []string // in lines
	Options  []string // unchanged: all their characters are visible
	Multiple bool
	Default  string // in one line; empty means none
}

// newAsk returns a question as a door shows it. whole false: something is left out.
func newAsk(ask *event.Ask, d Door) (shown *Ask, whole bool) {
	shown = &Ask{Multiple: ask.Multiple}
	shown.Question, whole = d.lines(ask.Question)
	for _, option := range ask.Options {
		option, _ = termtext.Visible(option, termtext.MaxText)
		shown.Options = append(shown.Options, option)
	}
	shown.Default, _ = termtext.Visible(ask.Default, termtext.MaxLabel)
	return shown, whole
}

// lines returns the question as text, below its headline.
func (a *Ask) lines() []string {
	var lines []string
	for _, line := range a.Question {
		lines = append(lines, "    "+line)
	}
	for i, option := range a.Options {
		if i == 0 {
			lines = append(lines, "  its options:")
		}
		lines = append(lines, fmt.Sprintf("    %d  %s", i+1, option))
	}
	if a.Default != "" {
		lines = append(lines, "  without an answer this holds:", "    "+a.Default)
	}
	return append(lines, "  "+Secrets)
}

// ReadAnswer reads what a person has typed as an answer: the text of an option, its number, or
// several of these with commas between them. Empty means the default. An error says what fits.
func ReadAnswer(ask *event.Ask, line string) ([]string, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "" && ask.Default != "":
		return []string{ask.Default}, nil
	case line == "":
		return nil, &approval.WrongAnswerError{Why: "the answer is empty"}
	case len(ask.Options) == 0:
		return []string{line}, nil
	case !ask.Multiple || slices.Contains(ask.Options, line):
		return ReadAnswers(ask, []string{line})
	}
	return ReadAnswers(ask, strings.Split(line, ","))
}

// ReadAnswers is [ReadAnswer] with several options.
func ReadAnswers(ask *event.Ask, texts []string) ([]string, error) {
	if len(ask.Options) == 0 {
		return []string{strings.Join(texts, " ")}, nil
	}
	var answers []string
	for _, text := range texts {
		answer, err := pick(ask.Options, strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// pick returns the option that a text means. A number that is the text of another option is
// no answer: nobody can know which of the two is meant.
func pick(options []string, text string) (string, error) {
	digits, sure := strings.CutPrefix(text, "#")
	n, err := strconv.Atoi(digits)
	same := slices.Index(options, text)
	switch {
	case err != nil || n < 1 || n > len(options):
		return text, nil // what is no option is refused with the list of them
	case same >= 0 && same != n-1 && !sure:
		return "", &approval.WrongAnswerError{Why: fmt.Sprintf("%q is the number of an option and the text of another: use #%d or #%d", text, n, same+1)}
	}
	return options[n-1], nil
}

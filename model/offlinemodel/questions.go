package offlinemodel

import (
	"regexp"
	"strings"
)

var (
	listItem = regexp.MustCompile(`^\s{0,3}(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-z]\)|[Qq]\d{1,2}[:.)])\s+(\S.*)$`)
	refersTo = regexp.MustCompile(`(?i)\b(it|its|they|them|their|this|that|these|those)\b`)
	sentence = regexp.MustCompile(`(?s)\S.*?(?:[.?!]+(?:\s+|$)|$)`)
)

// questions splits a prompt into what different agents can work on: the items
// of a list, or several sentences that ask. What stands before them goes to
// each. A prompt that is one question is returned as it is; an empty one gives
// none.
func questions(prompt string) []string {
	prompt = strings.TrimSpace(prompt)
	if prompt == "" {
		return nil
	}
	out := listed(prompt)
	if out == nil {
		out = asked(prompt)
	}
	if len(out) < 2 || len(out) > maxQuestions {
		return []string{prompt}
	}
	return out
}

// listed returns the items of the one list that a prompt holds; nil if it holds
// none, or if something follows it.
func listed(prompt string) []string {
	var before, items []string
	for line := range strings.Lines(prompt) {
		line = strings.TrimRight(line, "\r\n")
		m := listItem.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			return nil // what looks like a list may be code
		case m != nil:
			items = append(items, strings.TrimSpace(m[1]))
		case len(items) == 0:
			before = append(before, line)
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"):
			items[len(items)-1] += "\n" + strings.TrimSpace(line)
		default:
			return nil
		}
	}
	if len(items) < 2 {
		return nil
	}
	return withContext(strings.TrimSpace(strings.Join(before, "\n")), items)
}

// asked returns the questions among a prompt's sentences. One that speaks of
// what came before stays with the question before it.
func asked(prompt string) []string {
	var context, out []string
	for _, s := range sentence.FindAllString(prompt, -1) {
		s = strings.TrimSpace(s)
		switch {
		case !strings.HasSuffix(s, "?"):
			if len(out) > 0 {
				out[len(out)-1] += " " + s
			} else {
				context = append(context, s)
			}
		case len(out) > 0 && dependent(s):
			out[len(out)-1] += " " + s
		default:
			out = append(out, s)
		}
	}
	return withContext(strings.Join(context, " "), out)
}

// dependent reports whether a question cannot stand by itself.
func dependent(s string) bool {
	q := parseQuery(s, "")
	strong := len(q.strong()) + len(q.paths)
	return strong == 0 || strong < 2 && refersTo.MatchString(s)
}

// withContext puts what was said before questions in front of each, if it says
// anything.
func withContext(before string, questions []string) []string {
	if q := parseQuery(before, ""); len(q.terms) == 0 && len(q.paths) == 0 {
		return questions
	}
	for i, q := range questions {
		questions[i] = before + "\n\n" + q
	}
	return questions
}

package offlinemodel

import (
	"regexp"
	"strings"

	"github.com/agentworker/worker/model"
)

var (
	politeness = regexp.MustCompile(`(?i)^\W*(?:(?:please|now|then|also|ok(?:ay)?|hi|hello|hey|kindly|just|and)\b[\s,.!]*|(?:can|could|would|will) you (?:please )?|i(?:'d| would)? (?:want|need|like) you to |i(?:'d| would) like you to |let'?s |you (?:should|must|need to) |your task is to |help me (?:to )?)`)
	change     = regexp.MustCompile(`(?i)^(?:add|apply|bump|change|clean up|commit|convert|copy|correct|create|debug|delete|deploy|downgrade|edit|extract|fix|format|generate|implement|inline|insert|install|introduce|make|merge|migrate|modify|move|optimi[sz]e|patch|port|publish|push|refactor|reformat|release|remove|rename|reorder|repair|replace|resolve|revert|rewrite|run|set up|simplify|solve|split|start|stop|switch|translate|update|upgrade|write)\b`)
	inWords    = regexp.MustCompile(`(?i)^\w+ (?:me |us |up )?(?:(?:a|an|the|some|short|brief|quick|complete|full|detailed|one-page)\s+)*(?:summary|list|overview|report|description|explanation|outline|table|inventory|map|answer|search|note|sure|sense)\b`)
	wantsJSON  = regexp.MustCompile(`must be one JSON value and nothing else\b.*\bJSON Schema`)
)

// refuse answers at once what a search is no answer to: a request for a change,
// and one for an answer in a form that a search cannot give. "": neither.
func refuse(req *model.Request, prompt string) string {
	if wantsJSON.MatchString(req.System) {
		return "This agent's answer must satisfy a JSON Schema, and the offline model cannot fill in a schema: " +
			"it only searches, and quotes what it finds. Nothing was looked up."
	}
	for {
		rest := politeness.ReplaceAllString(prompt, "")
		if rest == prompt {
			break
		}
		prompt = rest
	}
	prompt = strings.TrimSpace(prompt)
	if verb := change.FindString(prompt); verb != "" && !inWords.MatchString(prompt) {
		return "This asks to " + strings.ToLower(verb) + " something, and the offline model cannot do that: " +
			"it changes no file and runs no command, it only searches. Nothing was changed. Ask it where something is or how it works, or set a key for a language model."
	}
	return ""
}

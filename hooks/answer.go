package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/termtext"
)

// maxText bounds a text of a hook that a model or a person reads, in bytes.
const maxText = 10_000

// answer is what one hook has said.
type answer struct {
	deny, ask, allow bool
	reason           string
	updated          json.RawMessage // in the form of the hook; nil means none
	context          string
	output           *string // instead of the tool's
}

// said is an answer on stdout, in all dialects.
type said struct {
	Continue   *bool   `json:"continue"`
	StopReason string  `json:"stopReason"`
	Decision   string  `json:"decision"`
	Reason     string  `json:"reason"`
	Context    string  `json:"additionalContext"`
	Permission string  `json:"permissionDecision"`
	Why        string  `json:"permissionDecisionReason"`
	Modified   any     `json:"modifiedArgs"`
	Behavior   string  `json:"behavior"`
	Message    string  `json:"message"`
	Specific   *nested `json:"hookSpecificOutput"`
}

type nested struct {
	Permission string          `json:"permissionDecision"`
	Why        string          `json:"permissionDecisionReason"`
	Updated    json.RawMessage `json:"updatedInput"`
	Context    string          `json:"additionalContext"`
	Output     json.RawMessage `json:"updatedToolOutput"`
	Decision   *struct {
		Behavior string          `json:"behavior"`
		Message  string          `json:"message"`
		Updated  json.RawMessage `json:"updatedInput"`
	} `json:"decision"`
}

// read makes an answer of what a hook of an event has printed. An error says that it is none.
func read(stdout []byte, e hookconfig.Event) (answer, error) {
	text := bytes.TrimSpace(withoutProgress(stdout))
	if len(text) == 0 || text[0] != '{' { // a text is for people, unless the event takes it
		if e.TakesText() {
			return answer{context: bounded(string(text))}, nil
		}
		return answer{}, nil
	}
	var in said
	if err := json.Unmarshal(text, &in); err != nil {
		return answer{}, fmt.Errorf("its answer is not valid JSON for a hook: %w", err)
	}
	a := answer{reason: bounded(in.Reason), context: bounded(in.Context)}
	words := []string{in.Decision, in.Permission, in.Behavior}
	reasons := []string{in.Why, in.Message}
	if n := in.Specific; n != nil {
		words, reasons = append(words, n.Permission), append(reasons, n.Why)
		a.updated = n.Updated
		if n.Context != "" {
			a.context = bounded(n.Context)
		}
		if d := n.Decision; d != nil {
			words, reasons = append(words, d.Behavior), append(reasons, d.Message)
			if len(d.Updated) > 0 {
				a.updated = d.Updated
			}
		}
		if len(n.Output) > 0 && !bytes.Equal(n.Output, []byte("null")) {
			out := outputText(n.Output)
			a.output = &out
		}
	}
	if in.Modified != nil {
		a.updated, _ = json.Marshal(in.Modified)
	}
	if bytes.Equal(bytes.TrimSpace(a.updated), []byte("null")) {
		a.updated = nil
	}
	stops := e == hookconfig.Stop || e == hookconfig.SubagentStop // whose deny has the agent go on
	if in.Continue != nil && !*in.Continue && !stops {
		words, reasons = append(words, "deny"), append(reasons, in.StopReason)
	}
	for _, r := range reasons {
		if r != "" {
			a.reason = bounded(r)
		}
	}
	return a, a.decide(words)
}

// withoutProgress leaves out the lines by which a hook tells people of its progress, as Copilot
// has them: {"type": "progress", …}.
func withoutProgress(stdout []byte) []byte {
	if !bytes.Contains(stdout, []byte(`"progress"`)) {
		return stdout
	}
	var kept [][]byte
	for line := range bytes.Lines(stdout) {
		var in struct{ Type string }
		if json.Unmarshal(line, &in) != nil || in.Type != "progress" {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

// decide takes the words of a decision: the strictest counts.
func (a *answer) decide(words []string) error {
	for _, word := range words {
		switch word {
		case "":
		case "deny", "block":
			a.deny = true
		case "ask":
			a.ask = true
		case "allow", "approve":
			a.allow = true
		case "defer":
		default:
			return fmt.Errorf("its decision %q is none: write allow, ask or deny", termtext.OneLine(word, termtext.MaxColumn))
		}
	}
	if a.updated != nil {
		var object map[string]json.RawMessage
		if json.Unmarshal(a.updated, &object) != nil || object == nil {
			return errors.New("its updatedInput is not an object")
		}
	}
	return nil
}

// outputText is what a model reads instead of the result of a call.
func outputText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return bounded(text)
	}
	return bounded(string(raw))
}

func bounded(text string) string { return termtext.CutBytes(strings.TrimSpace(text), maxText) }

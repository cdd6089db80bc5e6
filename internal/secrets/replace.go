package secrets

import (
	"encoding/json"
	"strings"
)

// Replace returns the text with each credential replaced by what with returns for it: its kind in
// capitals, such as GITHUB, and the credential. A provider's prefix is a part of it, and the words
// around it are not.
func Replace(text string, with func(kind, credential string) string) string {
	if len(text) < shortest {
		return text
	}
	var out strings.Builder
	from := 0 // what is before it is in out
	for i := 0; i < len(text); {
		at, k, _ := find(text, i, true, false)
		if k == nil {
			break
		}
		end, _ := rest(text, at, k, true)
		begin := max(from, at-k.length(text[:at]))
		out.WriteString(text[from:begin])
		out.WriteString(with(k.capitals(), text[begin:end]))
		from, i = end, end
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// ReplaceJSON is [Replace] for JSON, such as the arguments of a call: credentials are those of its
// strings. What is no JSON is taken as any text.
func ReplaceJSON(text string, with func(kind, credential string) string) string {
	replace := func(text string) string { return Replace(text, with) }
	if !json.Valid([]byte(text)) {
		return replace(text)
	}
	text = eachString(text, replace)
	if whole := replace(text); json.Valid([]byte(whole)) { // also what begins in one string and ends in the next
		return whole
	}
	return text
}

// length returns how long the prefix is that text ends with, where it belongs to the credential.
func (k *kind) length(text string) int {
	if k.inside || k.form == anyCase {
		return 0
	}
	longest := 0
	for _, prefix := range k.after {
		if strings.HasSuffix(text, prefix) {
			longest = max(longest, len(prefix))
		}
	}
	return longest
}

// capitals returns the name of a kind as one word.
func (k *kind) capitals() string { return strings.ToUpper(strings.ReplaceAll(k.name, " ", "_")) }

package secrets

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaskJSON is [Mask] for JSON, such as the arguments of a call. What was JSON stays JSON, and
// a credential is found in a string however its characters are escaped. What is no JSON is
// masked as any text.
func MaskJSON(text string) string { return maskJSON(text, false) }

// MaskJSONAsked is [MaskAsked] for JSON.
func MaskJSONAsked(text string) string { return maskJSON(text, true) }

func maskJSON(text string, asked bool) string {
	masked := mask(text, asked)
	if masked == text && !strings.Contains(text, `\u`) && !strings.Contains(text, `\/`) {
		return text
	}
	if !strings.Contains(text, `\`) || !json.Valid([]byte(text)) {
		return masked
	}
	text = eachString(text, func(text string) string { return mask(text, asked) })
	if masked = mask(text, asked); json.Valid([]byte(masked)) { // also what begins in one string and ends in the next
		return masked
	}
	return text
}

// eachString returns a JSON text with f of each of its strings.
func eachString(text string, f func(string) string) string {
	var out strings.Builder
	for {
		from := strings.IndexByte(text, '"')
		if from < 0 {
			break
		}
		to := from + 1
		for text[to] != '"' {
			if text[to] == '\\' {
				to++
			}
			to++
		}
		to++
		out.WriteString(text[:from])
		out.WriteString(ofString(text[from:to], f))
		text = text[to:]
	}
	out.WriteString(text)
	return out.String()
}

// ofString returns f of a string of JSON, with its quotes.
func ofString(quoted string, f func(string) string) string {
	var text string
	if err := json.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted
	}
	changed := f(text)
	if changed == text {
		return quoted
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(changed); err != nil {
		return quoted
	}
	return strings.TrimSuffix(out.String(), "\n")
}

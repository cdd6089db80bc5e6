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
	text = maskStrings(text, asked)
	if masked = mask(text, asked); json.Valid([]byte(masked)) { // also what begins in one string and ends in the next
		return masked
	}
	return text
}

// maskStrings masks the strings of a JSON text, each by itself.
func maskStrings(text string, asked bool) string {
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
		out.WriteString(maskString(text[from:to], asked))
		text = text[to:]
	}
	out.WriteString(text)
	return out.String()
}

// maskString masks a string of JSON, with its quotes.
func maskString(quoted string, asked bool) string {
	var text string
	if err := json.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted
	}
	masked := mask(text, asked)
	if masked == text {
		return quoted
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(masked); err != nil {
		return quoted
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Package tracecontext checks what callers say of the trace that they are part of, in the
// form of W3C Trace Context (https://www.w3.org/TR/trace-context/).
package tracecontext

import "strings"

// Parent returns a traceparent, or nothing if it is none: then the trace begins anew, as
// the standard has it. Of a later version of the standard the known parts are kept.
func Parent(s string) string {
	const parts = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	if len(s) < len(parts) {
		return ""
	}
	version, rest := s[:2], s[len(parts):]
	if s = s[:len(parts)]; s[2] != '-' || s[35] != '-' || s[52] != '-' || version == "ff" {
		return ""
	}
	if rest != "" && (version == "00" || rest[0] != '-') {
		return ""
	}
	trace, span := s[3:35], s[36:52]
	if !hex(version) || !hex(trace) || !hex(span) || !hex(s[53:]) || zero(trace) || zero(span) {
		return ""
	}
	return s
}

// hex reports whether a text is of small hexadecimal digits.
func hex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func zero(s string) bool { return strings.Trim(s, "0") == "" }

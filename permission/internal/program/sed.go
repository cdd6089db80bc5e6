package program

import (
	"regexp"
	"strings"
)

// sedScripts reports whether a script that sed is given may run a command.
func sedScripts(words []string) bool {
	var scripts, operands []string
	inPlace := false
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case Option(w, "--file") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "f"):
			return true // it reads the script
		case Option(w, "--expression") && strings.Contains(w, "="):
			scripts = append(scripts, w[strings.Index(w, "=")+1:])
		case strings.HasPrefix(w, "-") && len(w) > 1 && (w == "--expression" || w[1] != '-' && strings.HasSuffix(w, "e") && !strings.Contains(w, "i")):
			if i++; i < len(words) {
				scripts = append(scripts, words[i])
			}
		case len(w) > 1 && w[0] == '-':
			inPlace = inPlace || strings.Contains(w, "i")
			if w[1] != '-' && !inPlace && strings.Contains(w, "e") { // "-es/a/b/"
				return true
			}
		default:
			operands = append(operands, w)
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
		if inPlace && operands[0] == "''" && len(operands) > 1 { // "sed -i '' s/a/b/ f" is BSD's
			scripts = operands[1:2]
		}
	}
	for _, s := range scripts {
		if s == "" || sedRuns(s) {
			return true
		}
	}
	return false
}

// Commands of sed, with the addresses before them: without an argument, with a
// text or a file up to the end of the line, or with a label.
var (
	sedPlain = regexp.MustCompile(`^[ \t\n;{}!,0-9$+~pdDPnNgGhHxqQlz=]+`)
	sedText  = regexp.MustCompile(`^(?:[aicrR](?:[^\\\n]|\\[\s\S])*|[btT:][^\n;}]*|#[^\n]*)`)
)

// sedRuns reports whether a script of sed may run a command, or is none that
// is understood.
func sedRuns(s string) bool {
	for s != "" {
		known := len(sedPlain.FindString(s)) + len(sedText.FindString(s))
		switch {
		case known > 0:
			s = s[known:]
		case s[0] == '/', s[0] == '\\' && len(s) > 1: // an address
			s = strings.TrimPrefix(s, `\`)
			rest, ok := delimited(s[1:], s[0])
			if !ok {
				return true
			}
			s = strings.TrimLeft(rest, "IM")
		case (s[0] == 's' || s[0] == 'y') && len(s) > 1 && s[1] != '\\' && s[1] != '\n':
			rest, ok := delimited(s[2:], s[1])
			if ok {
				rest, ok = delimited(rest, s[1])
			}
			s = strings.TrimLeft(rest, "gpiIm0123456789")
			if !ok || s != "" && !strings.Contains(" \t\n;}#", s[:1]) { // s///e, s///w
				return true
			}
		default:
			return true
		}
	}
	return false
}

// delimited returns what follows the next delimiter, which a backslash and
// brackets hide.
func delimited(s string, by byte) (rest string, ok bool) {
	for i := 0; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if end := bracket.FindStringIndex(s[i:]); end != nil {
				i += end[1] - 1
			}
		case by:
			return s[i+1:], true
		}
	}
	return "", false
}

var bracket = regexp.MustCompile(`^\[\^?\]?[^\]\n]*\]`)

package shell

import (
	"regexp"
	"strings"
)

// tameSed are scripts of sed that only edit and print.
var tameSed = regexp.MustCompile(`^(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\]|\\.)*/I?)(?:,\s*(?:[0-9]+|\$|\+[0-9]+|/(?:[^/\\]|\\.)*/I?))?)?\s*!?\s*(?:[pdqQPDNnhHgGx=]|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiIm0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiIm0-9]*|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiIm0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiIm0-9]*|y/(?:[^/\\]|\\.)*/(?:[^/\\]|\\.)*/)?\s*(?:;|\n|$))+$`)

// sed judges sed's script, and what -i edits.
func (a *analysis) sed(st *state, v argv) {
	var scripts argv
	inPlace := false
	rest := v[1:]
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		switch {
		case s == "-e" || s == "--expression":
			if i++; i < len(rest) {
				scripts = append(scripts, rest[i])
			}
		case strings.HasPrefix(s, "--expression="):
			scripts = append(scripts, text{s: strings.TrimPrefix(s, "--expression="), known: rest[i].known})
		case strings.HasPrefix(s, "--file"), strings.HasPrefix(s, "-f"):
			a.unknown(v.line())
		case strings.HasPrefix(s, "--in-place"):
			inPlace = true
		case len(s) > 1 && s[0] == '-' && s[1] != '-':
			inPlace = inPlace || strings.Contains(s, "i")
			if strings.HasSuffix(s, "e") && i+1 < len(rest) && !strings.Contains(s, "i") {
				i++
				scripts = append(scripts, rest[i])
			} else if strings.HasSuffix(s, "f") {
				a.unknown(v.line())
			}
		}
	}
	files := operands(rest, "efl")
	if len(scripts) == 0 && len(files) > 0 {
		scripts = files[:1]
		if !inPlace || len(files) > 1 && files[0].s != "" { // "sed -i '' s/a/b/ f" is BSD's
			files = files[1:]
		}
	}
	for _, t := range scripts {
		if !t.known || !tameSed.MatchString(t.s) && t.s != "" {
			a.unknown(v.line())
		}
	}
	if inPlace {
		for _, f := range files {
			a.writes(st, f)
		}
	}
}

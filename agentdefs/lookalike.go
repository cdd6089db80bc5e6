package agentdefs

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// canonical is a field's name without capitals, "-", "_", accents, and what
// cannot be seen, such as a byte order mark or a space without width.
func canonical(name string) string {
	if !ascii(name) {
		name = norm.NFKD.String(name)
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// lookalike returns the field that a name is easily taken for which is not in
// its letters: some of them are of another alphabet. Only fields that restrict
// are looked for; false: it looks like none of them.
func lookalike(name string) (fieldID, bool) {
	if ascii(name) {
		return "", false
	}
	letters := []rune(canonical(name))
	for _, look := range vital {
		if id := canonicals[look]; id != fieldDescription && looksLike(letters, look) {
			return id, true
		}
	}
	return "", false
}

// looksLike reports whether letters are those of look, but for some, at most
// half of them, that are not ASCII.
func looksLike(letters []rune, look string) bool {
	if len(letters) != len(look) {
		return false
	}
	foreign := 0
	for i, r := range letters {
		switch {
		case r > unicode.MaxASCII:
			foreign++
		case r != rune(look[i]):
			return false
		}
	}
	return foreign > 0 && 2*foreign <= len(look)
}

// shownKey is a field's name as a message shows it: with codes for what cannot
// be told by eye.
func shownKey(name string) string {
	if ascii(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

var (
	// strangeKey finds the first word of a line that is no field as YAML has
	// them, and stands where a field's name would.
	strangeKey = regexp.MustCompile(`^["']?([^ \t"':：={}\[\]]+)["']?[ \t]*[:：={]`)

	// escapedKey finds a field's name that is written with escapes.
	escapedKey = regexp.MustCompile(`^"[^"\\]*\\(?:[^"\\]|\\.)*"[ \t]*:`)
)

// hidesField reports whether line, which is no field, may be meant as one that
// restricts: "tools = Read", or a name with characters that cannot be seen.
func hidesField(line string) bool {
	if escapedKey.MatchString(line) {
		return true
	}
	m := strangeKey.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	id, _ := fieldOf(m[1])
	_, looks := lookalike(m[1])
	return looks || id.guards()
}

package agentfile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// Field is a field of agent files, as far as reading it goes.
type Field struct {
	ID        string   // names the field, however a file spells it
	Spellings []string // in our files and those of other tools; ours first

	// Mistaken are spellings that occur in real files where this field is meant,
	// in the form of [spelling.Canonical].
	Mistaken []string

	// Near are the names, in the same form, that a name one letter off is taken
	// for. A field has them if overlooking it would lose the agent or a
	// restriction.
	Near []string

	// Restricts says that the field limits what the agent may do, or its
	// callers. A file in which it cannot be read exactly is refused.
	Restricts bool

	// Line matches the names of the field in a line that may be meant as it; it
	// is the text of a regular expression.
	Line string

	Textual bool   // its text is taken as it stands where it is not valid YAML
	Same    string // ID of the field of which only one may be there; empty means its own
	Each    bool   // each spelling is a field of its own

	TakenAs string // what a value that cannot be used counts as; empty means it is ignored
	Strict  bool   // such a value refuses the file, which has a message of its own
}

// Unknown is the field of a name that no field has.
var Unknown = &Field{}

// Vocabulary is the set of fields that files may have.
type Vocabulary struct {
	fields []*Field
	names  map[string]*Field // by canonical spelling
	near   []nearName

	line   *regexp.Regexp // a line that begins as a field which restricts
	inside *regexp.Regexp // the same, of a line inside a text
}

type nearName struct {
	name  string
	field *Field
}

// NewVocabulary returns the Vocabulary of these fields.
func NewVocabulary(fields []*Field) *Vocabulary {
	v := &Vocabulary{names: map[string]*Field{}}
	var lines []string
	for _, f := range fields {
		for _, s := range f.Spellings {
			v.names[spelling.Canonical(s)] = f
		}
		for _, s := range f.Mistaken {
			v.names[s] = f
		}
		for _, s := range f.Near {
			v.near = append(v.near, nearName{s, f})
		}
		if f.Line != "" {
			lines = append(lines, f.Line)
		}
	}
	v.fields = slices.SortedFunc(slices.Values(fields), func(a, b *Field) int { return cmp.Compare(a.ID, b.ID) })
	names := "(?:" + strings.Join(lines, "|") + ")"
	v.line = regexp.MustCompile(`(?m)^` + names + `[ \t]*:`)
	v.inside = regexp.MustCompile(`(?m)(?:^|[\n\x{85}\x{2028}\x{2029}])[ \t]*["']?` + names + `["']?[ \t]*:`)
	return v
}

// Field returns the field of that ID, or [Unknown].
func (v *Vocabulary) Field(id string) *Field {
	for _, f := range v.fields {
		if f.ID == id {
			return f
		}
	}
	return Unknown
}

// Find returns the field that name means, and whether the spelling is right.
// One wrong letter is forgiven where overlooking the field would lose the agent
// or a restriction.
func (v *Vocabulary) Find(name string) (f *Field, exact bool) {
	c := spelling.Canonical(name)
	f, ok := v.names[c]
	if ok {
		return f, slices.Contains(f.Spellings, name)
	}
	for _, near := range v.near {
		if spelling.OneOff(c, near.name) {
			return near.field, false
		}
	}
	return Unknown, true
}

// Lookalike returns the field that a name is easily taken for although it is
// written with other letters, some of them of another alphabet. Only fields that
// restrict are looked for; false: it looks like none of them.
func (v *Vocabulary) Lookalike(name string) (*Field, bool) {
	if spelling.IsASCII(name) {
		return nil, false
	}
	letters := []rune(spelling.Canonical(name))
	for _, near := range v.near {
		if near.field.ID != "description" && spelling.LooksLike(letters, near.name) {
			return near.field, true
		}
	}
	return nil, false
}

// Nearest returns the spelling of a field for which name, which is unknown, was
// probably mistyped; empty means no field is near.
func (v *Vocabulary) Nearest(name string) string {
	c := spelling.Canonical(name)
	best, least := "", 2 // the first distance that is too much
	if len(c) >= 8 {
		least = 3
	}
	for _, f := range v.fields {
		for _, written := range f.Spellings {
			known := spelling.Canonical(written)
			if len(c) < 4 || len(known) < 4 {
				continue
			}
			if d := spelling.Distance(c, known, least); d < least {
				best, least = written, d
			}
		}
	}
	return best
}

// RestrictingLine returns the first line of text that seems to begin a field
// that restricts; empty means there is none.
func (v *Vocabulary) RestrictingLine(text string) string { return v.line.FindString(text) }

var (
	// oddKey finds a line that YAML may read as a field that restricts, although
	// its name does not stand at the beginning.
	oddKey = regexp.MustCompile(`(?i)^[?!&{].*(?:permission|tools|readonly)`)

	// strangeKey finds the first word of a line that is not a field as YAML has
	// them, where a field's name would stand.
	strangeKey = regexp.MustCompile(`^["']?([^ \t"':：={}\[\]]+)["']?[ \t]*[:：={]`)

	// escapedKey finds a field's name that is written with escapes.
	escapedKey = regexp.MustCompile(`^"[^"\\]*\\(?:[^"\\]|\\.)*"[ \t]*:`)

	keyLine = regexp.MustCompile(`^["']?([A-Za-z<][A-Za-z0-9_.<-]*)["']?[ \t]*:(.*)$`)
)

// hides reports whether line, which is not a field, may be meant as one that
// restricts: "tools = Read", or a name with invisible characters.
func (v *Vocabulary) hides(line string) bool {
	if oddKey.MatchString(line) || escapedKey.MatchString(line) {
		return true
	}
	m := strangeKey.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	f, _ := v.Find(m[1])
	_, looks := v.Lookalike(m[1])
	return looks || f.Restricts
}

// key returns the key that begins in column 0 of line. A known field may lack
// the space after its colon; an unknown one begins with a small letter.
func (v *Vocabulary) key(line string) (key string, f *Field, exact, ok bool) {
	m := keyLine.FindStringSubmatch(line)
	if m == nil {
		return "", Unknown, false, false
	}
	f, exact = v.Find(m[1])
	spaced := m[2] == "" || m[2][0] == ' ' || m[2][0] == '\t'
	switch {
	case f == Unknown || !exact && !f.Restricts:
		if !spaced || m[1][0] < 'a' || m[1][0] > 'z' {
			return "", Unknown, false, false
		}
	case !spaced && strings.HasPrefix(m[2], "//"): // an address
		return "", Unknown, false, false
	}
	return m[1], f, exact, true
}

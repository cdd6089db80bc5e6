package offlinemodel

import (
	_ "embed" // the tables
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	//go:embed tables/kinds.txt
	kindTable string
	//go:embed tables/definitions.txt
	definitionTable string
	//go:embed tables/languages.txt
	languageTable string

	kinds       = readRows(kindTable, "(?i)")
	definitions = readRows(definitionTable, "")
	languages   = map[string]string{} // by the ends of file names: families of a like syntax
)

func init() {
	for l := range strings.Lines(languageTable) {
		words := strings.Fields(l)
		for _, end := range words[1:] {
			languages[end] = words[0]
		}
	}
}

// row is a line of a table.
type row struct {
	name  string
	share float64
	dash  bool // behind share
	match *regexp.Regexp
}

const modifiers = `(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|async|override|` +
	`virtual|inline|extern|unsafe|sealed|open|data|partial|readonly|declare|suspend|constexpr|noexcept|mutating|fileprivate|local|case|implicit|tailrec)\s+)*`

func readRows(table, flags string) (rows []row) {
	for l := range strings.Lines(table) {
		if name, rest, ok := strings.Cut(strings.TrimRight(l, "\n"), " "); ok && name != "#" {
			number, pattern, _ := strings.Cut(rest, " ")
			share, dash := strings.CutSuffix(number, "-")
			r := row{name: name, dash: dash}
			r.share, _ = strconv.ParseFloat(share, 64)
			r.match = regexp.MustCompile(flags + strings.ReplaceAll(pattern, "{m}", modifiers))
			rows = append(rows, r)
		}
	}
	return rows
}

// kindOf returns the kind of a file by its path alone, and what a hit in it is
// worth: private (tends to hold secrets), foreign (vendored, generated, locked,
// logged), test, sample, document, data, or source.
func kindOf(p string) (kind string, worth float64) {
	for _, k := range kinds {
		if k.match.MatchString(p) {
			return k.name, k.share
		}
	}
	return "source", 1
}

// language returns the family of a file's syntax; "" if it is unknown.
func language(file string) string {
	if strings.EqualFold(path.Base(file), "makefile") {
		return "yaml"
	}
	return languages[extension(file)]
}

func extension(file string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
}

// definition is what a line defines, judged by that line alone.
type definition struct {
	name     string
	strength float64 // 1: a function; less for what holds no steps, or is often local
	body     bool    // what follows belongs to it
}

// notDefined are words that stand where a definition has its name or its type.
var notDefined = wordSet(`if for while switch catch return else elif new throw throws await yield do case not and or in is with using when
unless until assert raise import from go defer delete typeof sizeof foreach lock print echo match`)

// defines returns what a line of a file defines. ok is false if nothing.
func defines(file, line string) (d definition, ok bool) {
	lang := language(file)
	text := lang == "md" || lang == "yaml" || lang == "ini" || lang == "data"
	if len(line) > 400 || strings.TrimSpace(line) == "" || lang == "data" || !text && isComment(file, line) {
		return definition{}, false
	}
	first := strings.FieldsFunc(line+" ", func(r rune) bool { return r == ' ' || r == '\t' || r == '(' })
	for _, row := range definitions {
		if row.name != lang && (row.name != "*" || text) {
			continue
		}
		if m := row.match.FindStringSubmatch(line); m != nil && !notDefined[m[1]] && (row.name != "c" || !notDefined[first[0]]) {
			return definition{m[1], row.share, !row.dash}, true
		}
	}
	return definition{}, false
}

var (
	commentLine = regexp.MustCompile(`^\s*(?://|/\*|\*(?:\s|/|$)|--\s|;;|<!--|"""|''')`)
	hashLine    = regexp.MustCompile(`^\s*#(?:[^!\[{d]|$)`)
	importLine  = regexp.MustCompile(`^\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|using\s+[\w.]+;|use\s+[\w:{]|require(?:_relative)?\b|autoload\b|package\s+\w|(?:const|let|var)\s+.{1,80}=\s*require\(|"[\w.-]+/[\w./-]+"$|export\s+.{1,80}\bfrom\s+['"])`)
)

// isComment reports whether a line is a comment, or looks like part of one.
func isComment(file, line string) bool {
	switch language(file) {
	case "c", "js", "md", "go", "rs", "data":
		return commentLine.MatchString(line)
	}
	return commentLine.MatchString(line) || hashLine.MatchString(line)
}

// indent returns how far a line is indented, a tab counting as four.
func indent(line string) (n int) {
	for _, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

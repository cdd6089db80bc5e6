package offlinemodel

import (
	"path"
	"regexp"
	"strings"
)

// definition is what a line defines, judged by that line alone.
type definition struct {
	name     string
	strength float64 // 1: a function; less for what holds no steps, or is often local
	body     bool    // what follows belongs to it
}

const modifiers = `(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|async|override|` +
	`virtual|inline|extern|unsafe|sealed|open|data|partial|readonly|declare|suspend|constexpr|noexcept|mutating|fileprivate|local|case|implicit|tailrec)\s+)*`

var (
	functionOrType = regexp.MustCompile(`^\s*` + modifiers +
		`(?:func(?:tion)?\b\s*\*?\s*(?:\([^)]*\)\s*)?|(?:type|class|struct|interface|enum|trait|object|record|protocol|module|namespace|union|actor|` +
		`def|defp|defn|defmodule|defmacro|fn|fun|sub|proc|macro_rules!|service|rpc|message|contract|library|resource|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|FUNCTION|PROCEDURE))\s+` +
		`(?:self\.|"[\w-]+"\s+")?)([\p{L}_$][\p{L}\p{N}_$.?!]*)`)
	typeLine   = regexp.MustCompile(`^\s*` + modifiers + `(?:type|class|struct|interface|enum|trait|object|record|protocol|module|namespace|union|message)\s`)
	implBlock  = regexp.MustCompile(`^\s*(?:unsafe\s+)?impl\b(?:<[^{]*?>)?\s+(?:.*\bfor\s+)?([\p{L}_][\p{L}\p{N}_:]*)`)
	defineLine = regexp.MustCompile(`^\s*#\s*define\s+([\p{L}_]\w*)`)
	variable   = regexp.MustCompile(`^(\s*)` + modifiers + `(?:const|let(?:\s+mut)?|var|val)\s+([\p{L}_$][\p{L}\p{N}_$]*)`)
	assigned   = regexp.MustCompile(`^\s*(?:(?:module\.)?exports\.|(?:const|let|var)\s+)?([\p{L}_$][\p{L}\p{N}_$.]*)\s*[:=]\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|[\p{L}_$]+\s*=>|lambda\b)`)
	constant   = regexp.MustCompile(`^\s*` + modifiers + `(?:mut\s+)?([A-Z][A-Z0-9_]{2,})\s*(?::[^=]+)?=[^=]`)
	goConstant = regexp.MustCompile(`^\t([A-Za-z]\w*)(?:\s+[\w.\[\]*]+)?\s+=\s`)
	cFunction  = regexp.MustCompile(`^\s{0,8}` + modifiers + `(?:[\p{L}_][\w:<>,.\[\]?]*[\s*&]+)+([\p{L}_~][\w:~]*)\s*\([^;]*$`)
	jsMethod   = regexp.MustCompile(`^\s+` + modifiers + `(?:get\s+|set\s+|\*\s*|#)?([\p{L}_$][\w$]*)\s*\([^()]*\)\s*(?::\s*[^{]+)?\{\s*$`)
	heading    = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*\s*$`)
	labelled   = regexp.MustCompile(`^([\p{L}][\w./-]*)\s*:(?:[^=]|$)`)
	section    = regexp.MustCompile(`^\s*\[+([\w."-]+)\]+\s*$`)
)

// notDefined are words that stand where cFunction and jsMethod expect a name
// or a type.
var notDefined = wordSet(`if for while switch catch return else elif new throw throws await yield do case not and or in is with using when
unless until assert raise import from go defer delete typeof sizeof foreach lock print echo match`)

// defines returns what a line of a file defines. ok is false if nothing.
func defines(file, line string) (d definition, ok bool) {
	if len(line) > 400 || strings.TrimSpace(line) == "" {
		return definition{}, false
	}
	kind := language(file)
	switch kind {
	case "md":
		if m := heading.FindStringSubmatch(line); m != nil {
			return definition{m[1], 0.8, true}, true
		}
		return definition{}, false
	case "yaml", "make":
		if m := labelled.FindStringSubmatch(line); m != nil {
			return definition{m[1], 0.6, true}, true
		}
		return definition{}, false
	case "ini":
		if m := section.FindStringSubmatch(line); m != nil {
			return definition{m[1], 0.6, true}, true
		}
		return definition{}, false
	case "data":
		return definition{}, false
	}
	if isComment(file, line) {
		return definition{}, false
	}
	if m := functionOrType.FindStringSubmatch(line); m != nil && !notDefined[m[1]] {
		if typeLine.MatchString(line) {
			return definition{m[1], 0.8, true}, true
		}
		return definition{m[1], 1, true}, true
	}
	if m := assigned.FindStringSubmatch(line); m != nil {
		return definition{m[1], 0.9, true}, true
	}
	if m := variable.FindStringSubmatch(line); m != nil {
		strength := 0.6
		if len(m[1]) > 0 {
			strength = 0.2 // most likely inside of a function
		}
		return definition{m[2], strength, false}, true
	}
	if m := implBlock.FindStringSubmatch(line); m != nil && kind == "rs" {
		return definition{m[1], 0.7, true}, true
	}
	if m := defineLine.FindStringSubmatch(line); m != nil {
		return definition{m[1], 0.8, false}, true
	}
	if m := constant.FindStringSubmatch(line); m != nil {
		return definition{m[1], 0.6, false}, true
	}
	if m := goConstant.FindStringSubmatch(line); m != nil && kind == "go" {
		return definition{m[1], 0.4, false}, true
	}
	switch kind {
	case "c":
		if m := cFunction.FindStringSubmatch(line); m != nil && !notDefined[m[1]] && !notDefined[firstWord(line)] {
			return definition{m[1], 0.9, true}, true
		}
	case "js":
		if m := jsMethod.FindStringSubmatch(line); m != nil && !notDefined[m[1]] {
			return definition{m[1], 0.9, true}, true
		}
	}
	return definition{}, false
}

func firstWord(line string) string {
	return strings.FieldsFunc(line+" ", func(r rune) bool { return r == ' ' || r == '\t' || r == '(' })[0]
}

// languages puts the ends of file names into families of a like syntax.
var languages = map[string]string{
	"go": "go", "rs": "rs",
	"c": "c", "h": "c", "cc": "c", "cpp": "c", "cxx": "c", "hpp": "c", "hh": "c", "java": "c", "cs": "c", "scala": "c", "dart": "c",
	"php": "c", "m": "c", "mm": "c", "groovy": "c", "sol": "c", "cu": "c",
	"js": "js", "jsx": "js", "ts": "js", "tsx": "js", "mjs": "js", "cjs": "js", "vue": "js", "svelte": "js", "mts": "js", "cts": "js",
	"md": "md", "mdx": "md", "markdown": "md",
	"yaml": "yaml", "yml": "yaml", "mk": "make",
	"toml": "ini", "ini": "ini", "cfg": "ini", "conf": "ini",
	"json": "data", "jsonl": "data", "jsonc": "data", "csv": "data", "lock": "data", "txt": "data", "rst": "data", "sum": "data", "svg": "data", "xml": "data", "html": "data",
	"py": "py", "rb": "py", "sh": "py",
}

// language returns the family of a file's syntax; "" if it is unknown.
func language(file string) string {
	if strings.EqualFold(path.Base(file), "makefile") {
		return "make"
	}
	return languages[extension(file)]
}

var (
	commentLine = regexp.MustCompile(`^\s*(?://|/\*|\*(?:\s|/|$)|--\s|;;|<!--|"""|''')`)
	hashLine    = regexp.MustCompile(`^\s*#(?:[^!\[{d]|$)`)
	importLine  = regexp.MustCompile(`^\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|using\s+[\w.]+;|use\s+[\w:{]|require(?:_relative)?\b|autoload\b|package\s+\w|(?:const|let|var)\s+.{1,80}=\s*require\(|"[\w.-]+/[\w./-]+"$|export\s+.{1,80}\bfrom\s+['"])`)
)

// isComment reports whether a line is a comment, or looks like part of one.
func isComment(file, line string) bool {
	if commentLine.MatchString(line) {
		return true
	}
	switch language(file) {
	case "c", "js", "md", "go", "rs", "data":
		return false
	}
	return hashLine.MatchString(line)
}

// indent returns how far a line is indented, a tab counting as four.
func indent(line string) int {
	n := 0
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

// Package program knows what programs and builtins of the shell do with their
// words. It says which command they run, which words may be code, and how many
// words name the action. A row of programs.txt has all that is known of one.
package program

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Program is what is known of a program or a builtin: its row in programs.txt.
// A column that is not there is the zero value.
type Program struct {
	Does string              // how it runs other commands, or what it does to the shell: a Does value, or one that the shell's analysis names
	cols map[string][]string // the entries of a column
	has  *regexp.Regexp      // a word that is code
}

// The columns of programs.txt, except for "does" and "has=REGEXP".
const (
	Takes    = "takes"       // options whose argument may be the next word: a letter, or a long name
	Skip     = "skip"        // how many operands stand before the command that it runs
	Code     = "code"        // options that name a program or code; "sub:option" after a subcommand, "*": any word
	Asks     = "asks"        // options by which it runs nothing
	Modules  = "module"      // modules that run other code
	Files    = "files"       // what it opens: "none", "operands"; else any file
	First    = "first"       // the first operand is not a file, unless one of these options replaces it
	Words    = "words"       // how many words say what it does; "words.sub" after a subcommand
	Exact    = "exact"       // subcommands, or "sub:option", of which "always" offers only the line; none: all
	Flags    = "flags"       // "--long:l" of flags that rules tend to name by the letter
	Free     = "prints-none" // subcommands of git that print nothing that files hold
	Keeps    = "keeps-index" // subcommands of git, or "sub:word", that bring no other file into the index than those of the work tree
	Settings = "settings"    // settings of git that run nothing; "x." begins some
	Posix    = "posix"       // a shell that is plainer than bash
	Other    = "other"       // a shell with a syntax of its own
	Plain    = "plain"       // its operands are no commands
	Assigns  = "assigns"     // operands may be assignments
	Subflags = "subflags"    // its subcommands have flags of their own
)

// Values of Does that this package asks about.
const (
	DoesCode    = "code"    // it runs code of its own language
	DoesProject = "project" // it runs programs of a project, or elsewhere
)

//go:embed programs.txt
var programsText string

var programs = parsePrograms(programsText)

// parsePrograms reads the table, which is part of the program.
func parsePrograms(text string) map[string]*Program {
	table := map[string]*Program{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		p := &Program{cols: map[string][]string{}}
		for _, f := range fields[1:] {
			switch name, value, _ := strings.Cut(f, "="); name {
			case "does":
				p.Does = value
			case "has":
				p.has = regexp.MustCompile(value)
			default:
				p.cols[name] = strings.Split(value, ",")
			}
		}
		for name := range strings.SplitSeq(fields[0], ",") {
			table[name] = p
		}
	}
	return table
}

// Is reports whether there is a column.
func (p *Program) Is(column string) bool { return p.cols[column] != nil }

// Column returns the entries of a column.
func (p *Program) Column(column string) []string { return p.cols[column] }

// Number returns the number in a column, 0 if there is none.
func (p *Program) Number(column string) int {
	n, _ := strconv.Atoi(strings.Join(p.cols[column], ""))
	return n
}

// version is what may follow the name of an interpreter: "python3.12".
var version = regexp.MustCompile(`^([A-Za-z]+)[0-9.]+$`)

// Lookup returns what is known of a program by the last part of its path.
func Lookup(name string) *Program {
	name = path.Base(name)
	if p := programs[name]; p != nil {
		return p
	}
	if m := version.FindStringSubmatch(name); m != nil && programs[m[1]] != nil && programs[m[1]].Does == DoesCode {
		return programs[m[1]]
	}
	return &Program{}
}

// Option reports whether a word is one of the options. A long one may be
// abbreviated or have its argument after "="; a short one may be a letter in a
// bundle.
func Option(word string, options ...string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(word, "=")
	return slices.ContainsFunc(options, func(o string) bool {
		switch {
		case strings.HasPrefix(o, "--"):
			o = strings.TrimSuffix(o, "=")
			return len(name) > 2 && strings.HasPrefix(o, name) || strings.TrimLeft(name, "-") == o[2:]
		case len(o) > 2: // "-wrapper", "-B*"
			return strings.HasPrefix(word, strings.TrimSuffix(o, "*"))
		}
		return o != "" && word[1] != '-' && strings.IndexByte(word, o[len(o)-1]) > 0
	})
}

// RunsCode reports whether an option or another word makes the program run
// something that no word of it names as a command.
func (p *Program) RunsCode(words []string) bool {
	code := p.cols[Code]
	if len(words) > 1 && Option(words[1], p.cols[Asks]...) {
		return false
	}
	sub := subcommand(words)
	for i, w := range words[1:] {
		if w == "--" && p.Does == DoesProject { // what follows is for what it runs
			break
		}
		if p.has != nil && p.has.MatchString(w) || slices.ContainsFunc(code, func(c string) bool {
			of, o, qualified := strings.Cut(c, ":")
			if !qualified {
				return Option(w, c)
			}
			return of == sub && slices.Contains(words[:i+2], sub) && (o == "*" || o == w || strings.HasPrefix(o, "-") && Option(w, o))
		}) {
			return true
		}
	}
	return len(code) == 1 && code[0] == "*"
}

// subcommand returns the first word behind the name that is no option.
func subcommand(words []string) string {
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// SkipOptions returns where the command begins that a wrapper runs: behind its
// options and operands. Where an option's argument is not certain, that may be
// too early, at a word that no rule allows.
func (p *Program) SkipOptions(words []string) int {
	skip := p.Number(Skip)
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "--":
			return min(len(words), i+1+skip)
		case len(w) > 1 && w[0] == '-':
			if p.TakesNext(w) {
				i++
			}
		case skip > 0:
			skip--
		default:
			return i
		}
	}
	return len(words)
}

// TakesNext reports whether the argument of an option is the next word: the
// last letter of a bundle takes it, unless one before it does.
func (p *Program) TakesNext(s string) bool {
	takes := p.cols[Takes]
	if len(s) < 2 || s[0] != '-' || s[1] == '-' {
		return slices.Contains(takes, s)
	}
	return strings.IndexFunc(s[1:], func(r rune) bool { return slices.Contains(takes, string(r)) }) == len(s)-2
}

// Operands returns where the words are that are no options and no arguments of
// them.
func (p *Program) Operands(words []string) (at []int) {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "--":
			for i++; i < len(words); i++ {
				at = append(at, i)
			}
		case len(w) < 2 || w[0] != '-':
			at = append(at, i)
		case p.TakesNext(w):
			i++
		}
	}
	return at
}

// RunsAnything reports whether "always" is for the command as it stands and no
// more: its arguments are programs or code, or what it does is destructive or
// reaches far.
func (p *Program) RunsAnything(words []string) bool {
	sub := subcommand(words)
	switch p.Does {
	case "command", "xargs", "find", "shell", DoesCode, "awk", "sed", "eval", "later", "unknown", "arguments", "set", "keyword":
		return true
	case "subcommands":
		if sub == "" || sub != words[1] || sub == "eval" {
			return true
		}
	}
	return slices.ContainsFunc(p.cols[Exact], func(e string) bool {
		of, o, option := strings.Cut(e, ":")
		return e == "" || of == sub && (!option || slices.Contains(words[1:], o))
	})
}

// Prefix returns how many words say what the command does.
func (p *Program) Prefix(words []string) int {
	n := max(1, p.Number(Words))
	if len(words) > 1 {
		n = max(n, p.Number(Words+"."+words[1]))
	}
	return min(n, len(words))
}

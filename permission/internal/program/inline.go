package program

import (
	"regexp"
	"slices"
	"strings"
)

// codeFlags are the options by which interpreters take code or load it.
var codeFlags = regexp.MustCompile(`^(?:-[a-zA-Z0-9]*[ceErRpnxMS].*|-{1,2}(?:eval|print|command|cmd|require|import|execute|run|expr|code|loader|experimental-loader|batch)(?:=.*)?|-f|--script|-init|-cmd|eval|repl)$`)

// moduleOption is Python's, with the module if that is glued to it.
var moduleOption = regexp.MustCompile(`^-[a-zA-Z]*?m(.*)$`)

const (
	whyInline = "it runs code that stands in the line: put it in a file"
	whyAwk    = "awk may run commands: leave out system, getline, | and options that load code"
	whySed    = "a script of sed may run commands: leave out e and w, and give it as a word of the line"
)

// RunsInline says why a program may run what its words or its input hold as code
// of its own language; "": it does not. A word that is not certain is "",
// an empty one two quotes. What is in a file is as known as any program.
func (p *Program) RunsInline(words []string) string {
	switch {
	case p.Does == DoesCode:
		return p.interprets(words)
	case p.Does == "subcommands" && (len(words) < 2 || slices.Contains([]string{"", "-e", "-p", "eval", "repl"}, words[1])):
		return whyInline
	case p.Does == "awk" && p.awkRuns(words):
		return whyAwk
	case p.Does == "sed" && sedScripts(words):
		return whySed
	}
	return ""
}

// interprets looks at the words of an interpreter.
func (p *Program) interprets(words []string) string {
	for i := 1; i < len(words); i++ {
		w := words[i]
		m := moduleOption.FindStringSubmatch(w)
		switch {
		case w == "--version" || w == "-V" || w == "--help" || w == "-v" && len(words) == 2:
			return ""
		case m != nil && p.Is(Modules) && !strings.Contains(w, "c"):
			module, rest := m[1], words[i+1:]
			if module == "" && len(rest) > 0 {
				module, rest = rest[0], rest[1:]
			}
			return p.runsModule(module, rest)
		case p.TakesNext(w):
			i++
		case w == "" || w == "-" || strings.HasPrefix(w, "/dev/") || strings.HasPrefix(w, "/proc/") || codeFlags.MatchString(w):
			return whyInline
		case !strings.HasPrefix(w, "-"):
			return "" // a script in a file
		}
	}
	return "it reads its input: give it a file"
}

// runsModule says why a module of Python's may run other code; words are its own.
func (p *Program) runsModule(module string, words []string) string {
	switch {
	case module == "":
		return "which module it runs is not known"
	case slices.Contains(p.cols[Modules], module):
		return "the module " + module + " runs other code, or writes what an archive names: run the program itself"
	case module == "http.server" && slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.HasPrefix(w, "--c") }):
		return "a server with --cgi runs the programs of the folder: leave that out"
	}
	return ""
}

// awkCode are the options of awk that take code from somewhere else; awkRuns
// is code that runs commands.
var (
	awkCode = regexp.MustCompile(`^-[feilEW]|^--(?:file|source|exec|include|load)`)
	awkRuns = regexp.MustCompile(`system|getline|@|(?:^|[^|])\|(?:[^|]|$)`)
	awkText = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|/(?:[^/\\\n]|\\.)*/`)
)

func (p *Program) awkRuns(words []string) bool {
	if at := p.Operands(words); len(at) > 0 {
		code := words[at[0]]
		if code == "" || strings.Contains(code, "system") || awkRuns.MatchString(awkText.ReplaceAllString(code, `""`)) {
			return true
		}
	}
	return slices.ContainsFunc(words[1:], awkCode.MatchString)
}

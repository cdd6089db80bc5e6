package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
)

// longFlags are the long names of flags that rules tend to name in short.
var longFlags = map[string]map[string]string{
	"rm":    {"--recursive": "r", "--force": "f", "--dir": "d", "--verbose": "v", "--interactive": "i"},
	"cp":    {"--recursive": "r", "--force": "f", "--archive": "a"},
	"chmod": {"--recursive": "R"}, "chown": {"--recursive": "R"}, "chgrp": {"--recursive": "R"},
	"git": {"--force": "f", "--delete": "d", "--all": "a", "--hard": "", "--tags": ""},
	"mv":  {"--force": "f"}, "ln": {"--force": "f", "--symbolic": "s"},
}

// ownFlags are the programs whose subcommands have flags of their own: git log
// -p is not git -p log. Others take a flag in any place.
var ownFlags = wordSet(`git go`)

// spellings adds other ways to write a command that a rule may mean: without
// the folder of the program, without the options before a subcommand, and
// with its flags in any order, bundled or not. They can only deny.
func (a *analysis) spellings(v argv) {
	name := commandName(v)
	if name == "" {
		return
	}
	own := v.line()
	add := func(words ...string) {
		if line := strings.Join(words, " "); line != own {
			a.add(permission.Value{Tool: a.tool, Text: line, DenyOnly: true, Spelling: true})
		}
	}
	words := []string{name}
	for i, t := range v[1:] {
		if !t.known { // the rest of the line may be anything
			a.add(permission.Value{Tool: a.tool, Text: strings.Join(append(words, t.s[:min(t.prefix, len(t.s))]), " "), DenyOnly: true, Unknown: true})
			words = append(words, argvWords(v[i+1:])...)
			break
		}
		words = append(words, t.s)
	}
	add(words...)
	a.globbedSpelling(v, name)
	if len(words) > 1 {
		for _, sub := range subcommands(words) {
			add(sub...)
			if len(sub) < 50 {
				a.flagSpellings(sub, 2, add)
			}
		}
	}
	if !ownFlags[name] || strings.HasPrefix(words[min(1, len(words)-1)], "-") {
		a.flagSpellings(words, 1, add)
	}
	if _, ok := arity[name]; ok && len(words) > 2 {
		a.flagSpellings(words, 2, add)
	}
}

func argvWords(v argv) []string {
	words := make([]string, len(v))
	for i, t := range v {
		words[i] = t.s
	}
	return words
}

// globbedSpelling adds the command with the files that its patterns mean now.
func (a *analysis) globbedSpelling(v argv, name string) {
	if !slices.ContainsFunc(v, func(t text) bool { return t.known && t.glob }) {
		return
	}
	words := []string{name}
	for _, t := range v[1:] {
		files := []string{t.s}
		if t.known && t.glob {
			found, ok := a.globbed(a.ws.Root, t)
			if !ok { // which files these are cannot be told: a deny might be for one
				a.add(permission.Value{Tool: a.tool, Text: strings.Join(words, " ") + " ", DenyOnly: true, Unknown: true})
			}
			if ok && len(found) > 0 {
				files = found
			}
		}
		for _, f := range files {
			if len(files) > 1 {
				a.add(permission.Value{Tool: a.tool, Text: strings.Join(append(slices.Clone(words), f), " "), DenyOnly: true, Spelling: true})
			}
		}
		words = append(words, files...)
	}
	a.add(permission.Value{Tool: a.tool, Text: strings.Join(words, " "), DenyOnly: true, Spelling: true})
}

// subcommands returns the command without the options before its subcommand,
// in each way that they may take an argument.
func subcommands(words []string) [][]string {
	if arity[words[0]] < 2 || !strings.HasPrefix(words[1], "-") {
		return nil
	}
	var all [][]string
	reach := map[int]bool{1: true}
	for i := 1; i < len(words) && i < 12; i++ {
		if !reach[i] {
			continue
		}
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			all = append(all, append([]string{words[0]}, words[i:]...))
			continue
		}
		reach[i+1] = true
		if !strings.Contains(w, "=") && !noArgument[w] {
			reach[i+2] = true
		}
	}
	return all
}

// noArgument are options before a subcommand that are known to stand alone.
var noArgument = wordSet(`--no-pager --paginate -p -P --bare --no-replace-objects --literal-pathspecs --no-optional-locks --debug -D
	--tls --verbose -v --silent -s -q --quiet --help --version --no-color`)

// maxFlags bounds the flags that are put in every order.
const maxFlags = 5

// flagSpellings adds the command with its flags in other orders. The first
// keep words stay where they are.
func (a *analysis) flagSpellings(words []string, keep int, add func(...string)) {
	if len(words) <= keep {
		return
	}
	head, rest := words[:keep], words[keep:]
	var letters []string
	var long, others []string
	for i, w := range rest {
		if w == "--" {
			others = append(others, rest[i+1:]...)
			break
		}
		if short, ok := longFlags[path.Base(head[0])][w]; ok {
			letters = appendNew(letters, short)
			long = append(long, w)
			continue
		}
		switch {
		case strings.HasPrefix(w, "--"):
			long = append(long, w)
		case len(w) > 1 && w[0] == '-' && isLetters(w[1:]):
			for _, l := range strings.Split(w[1:], "") {
				letters = appendNew(letters, l)
				if l == "R" && longFlags[head[0]]["--recursive"] == "r" { // the same for rm and cp
					letters = appendNew(letters, "r")
				}
			}
		default:
			others = append(others, w)
		}
	}
	join := func(flags ...string) { add(slices.Concat(head, flags, others)...) }
	for _, l := range long {
		join(l)
	}
	for l, short := range longFlags[path.Base(head[0])] {
		if short != "" && slices.Contains(letters, short) {
			join(l)
		}
	}
	if len(long)+len(letters) > 0 {
		join()
	}
	if len(letters) > 12 {
		return
	}
	size := maxFlags
	if len(letters) > maxFlags {
		size = 2
	}
	arrange(letters, nil, size, func(flags []string) {
		join("-" + strings.Join(flags, ""))
		if len(flags) > 1 && len(flags) < 4 {
			apart := make([]string, len(flags))
			for i, f := range flags {
				apart[i] = "-" + f
			}
			join(apart...)
		}
	})
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// arrange calls yield with every order of up to size of the letters.
func arrange(letters, chosen []string, size int, yield func([]string)) {
	if len(chosen) > 0 {
		yield(chosen)
	}
	if len(chosen) == size {
		return
	}
	for _, l := range letters {
		if !slices.Contains(chosen, l) {
			arrange(letters, append(slices.Clone(chosen), l), size, yield)
		}
	}
}

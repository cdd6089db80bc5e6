package program

import (
	"slices"
	"strings"
)

// Spellings calls add with other ways to write a command: without the options
// before its subcommand, and with its flags in any order, bundled or not.
func (p *Program) Spellings(words []string, add func(...string)) {
	subcommand := p.Number(Words) > 1
	if subcommand && len(words) > 1 && strings.HasPrefix(words[1], "-") {
		for _, sub := range behindOptions(words) {
			add(sub...)
			add(append(slices.Clone(sub), "")...)
			p.flagSpellings(sub, 2, add)
		}
	}
	if !p.Is(Subflags) || strings.HasPrefix(words[min(1, len(words)-1)], "-") {
		p.flagSpellings(words, 1, add)
	}
	if subcommand {
		p.flagSpellings(words, 2, add)
	}
}

// behindOptions returns the command without the options before its subcommand,
// in each way that they may take an argument.
func behindOptions(words []string) (all [][]string) {
	reach := map[int]bool{1: true}
	for i := 1; i < len(words) && i < 12; i++ {
		w := words[i]
		switch {
		case !reach[i]:
		case !strings.HasPrefix(w, "-"):
			all = append(all, append(words[:1:1], words[i:]...))
		default:
			reach[i+1] = true
			reach[i+2] = reach[i+2] || !strings.Contains(w, "=") && !slices.Contains(noArgument, w)
		}
	}
	return all
}

// noArgument are options before a subcommand that take no argument.
var noArgument = strings.Fields(`--no-pager --paginate -p -P --bare --no-replace-objects --literal-pathspecs --no-optional-locks --debug -D
	--tls --verbose -v --silent -s -q --quiet --help --version --no-color`)

// Bounds of the flags that are put in every order.
const (
	maxFlags   = 5
	maxLetters = 12
	maxFlagged = 50 // words of a command
)

// flagSpellings adds the command with its flags in other orders. The first
// keep words stay where they are.
func (p *Program) flagSpellings(words []string, keep int, add func(...string)) {
	if len(words) <= keep || len(words) > maxFlagged {
		return
	}
	names := map[string]string{} // of a long flag the letter
	for _, f := range p.cols[Flags] {
		long, short, _ := strings.Cut(f, ":")
		names[long] = short
	}
	var letters, long, others []string
	for i, w := range words[keep:] {
		short, named := names[w]
		switch {
		case w == "--":
			others = append(others, words[keep+i+1:]...)
		case named || strings.HasPrefix(w, "--"):
			letters, long = appendOnce(letters, short), append(long, w)
		case len(w) > 1 && w[0] == '-' && isLetters(w[1:]):
			for _, l := range strings.Split(w[1:], "") {
				letters = appendOnce(letters, l)
				if l == "R" && names["--recursive"] == "r" { // the same for rm and cp
					letters = appendOnce(letters, "r")
				}
			}
		default:
			others = append(others, w)
		}
		if w == "--" {
			break
		}
	}
	if len(long)+len(letters) == 0 {
		return
	}
	join := func(flags ...string) { add(slices.Concat(words[:keep], flags, others)...) }
	join()
	for _, l := range long {
		join(l)
	}
	for l, short := range names {
		if short != "" && slices.Contains(letters, short) {
			join(l)
		}
	}
	size := maxFlags
	switch {
	case len(letters) > maxLetters:
		return
	case len(letters) > maxFlags:
		size = 2
	}
	arrange(letters, nil, size, func(flags []string) {
		join("-" + strings.Join(flags, ""))
		if len(flags) > 1 && len(flags) < 4 {
			join(strings.Fields("-" + strings.Join(flags, " -"))...)
		}
	})
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// arrange calls yield with every order of up to size of the letters.
func arrange(letters, chosen []string, size int, yield func([]string)) {
	if len(chosen) > 0 {
		yield(chosen)
	}
	for _, l := range letters {
		if len(chosen) < size && !slices.Contains(chosen, l) {
			arrange(letters, append(slices.Clone(chosen), l), size, yield)
		}
	}
}

func appendOnce(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

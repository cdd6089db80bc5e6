package program

import (
	"regexp"
	"slices"
	"strings"
)

// TameSetting reports whether a setting of git runs nothing and leads nowhere.
func (p *Program) TameSetting(setting string) bool {
	name, _, _ := strings.Cut(strings.ToLower(setting), "=")
	return slices.ContainsFunc(p.cols[Settings], func(s string) bool {
		return name == s || strings.HasSuffix(s, ".") && strings.HasPrefix(name, s)
	})
}

// KeepsIndex reports whether a subcommand of git brings no other file into the index than
// those of the work tree. A word that is not certain is "".
func (p *Program) KeepsIndex(sub string, words []string) bool {
	return slices.Contains(p.cols[Keeps], sub) || len(words) > 0 && slices.Contains(p.cols[Keeps], sub+":"+words[0])
}

// Options by which git prints what files hold: of all subcommands, and of those
// where letters mean it, too.
var (
	showing = regexp.MustCompile(`^--(?:pat(?:c.*)?$|inter|uni|reme|function|bin|word|color-w|show-c|ext|textc|full-d|blob|content)|%\(`)
	patches = regexp.MustCompile(`^(?:-[a-zA-Z0-9]*[puUWGL].*|-c|--cc|-m|-i)$`)
	chooses = regexp.MustCompile(`^-[a-zA-Z]*[pie]`)
	verbose = regexp.MustCompile(`^(?:--verb.*|-[a-ln-z]*[vp].*)$`)
)

// PrintsNone reports whether a subcommand of git prints nothing that files hold. A
// word that is not certain is "".
func (p *Program) PrintsNone(sub string, words []string) bool {
	var options *regexp.Regexp
	switch sub {
	case "clone": // from here
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.ContainsAny(w, ":@") && !strings.HasPrefix(strings.ToLower(w), "file:") && !strings.HasPrefix(w, "-")
		})
	case "commit", "status":
		options = verbose
	case "add", "stage":
		options = chooses
	case "stash", "worktree":
		if len(words) > 0 && (words[0] == "show" || words[0] == "add") {
			return false
		}
		if options = chooses; len(words) > 0 && words[0] == "list" {
			options = patches
		}
	case "bisect", "log", "reflog", "shortlog", "reset", "restore", "checkout", "am", "rebase", "apply", "show-branch", "rev-list":
		options = patches
	}
	return slices.Contains(p.cols[Free], sub) && !slices.ContainsFunc(words, func(w string) bool {
		return showing.MatchString(w) || options != nil && (w == "" || options.MatchString(w))
	})
}

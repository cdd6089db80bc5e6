// Package ignore decides what git ignores, by the lines of .gitignore files.
package ignore

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/agentworker/worker/internal/fileglob"
)

// The bounds of what is read from .gitignore files: every entry of a folder is
// matched against all rules that hold there.
const (
	MaxBytes = 1 << 20 // of one file
	MaxLine  = 4096    // bytes of one line, as long as a path may be
	MaxRules = 5000    // in force in one folder, with the rules from above it
)

// Rules are the lines of the .gitignore files from the root down to a folder. The last
// match wins.
type Rules []Rule

// Rule is one line.
type Rule struct {
	pattern gitignore.Pattern
	depth   int  // of the folder that the file is in: the number of its segments
	rooted  bool // matched against the path below that folder, not the base name
	below   bool // ends in "/**"
}

// ParseLine says to the library what git understands by a line. Each line
// is given to it without a folder, and match gives it the path below the
// folder, or the base name alone for a pattern without a slash: it would match
// that against the names of all folders above too, and let "!keep" bring back
// what git ignores in keep. It knows neither "[!a]" nor "**" within a name, and
// takes "logs/**" for the folder as well, where "!logs/keep" could not help.
func ParseLine(line string, depth int) Rule {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	body, not := strings.CutPrefix(line, "!")
	body, isDir := strings.CutSuffix(body, "/")
	segments := strings.Split(body, "/")
	for i, s := range segments {
		if s = fileglob.GoClasses(s); s != "**" {
			s = manyStars.ReplaceAllString(s, "*")
		}
		segments[i] = s
	}
	rule := Rule{depth: depth, rooted: len(segments) > 1}
	if rule.below = rule.rooted && segments[len(segments)-1] == "**"; rule.below {
		segments = append(segments, "*")
	}
	line = strings.Join(segments, "/")
	if isDir {
		line += "/"
	}
	if not {
		line = "!" + line
	}
	rule.pattern = gitignore.ParsePattern(line, nil)
	return rule
}

var manyStars = regexp.MustCompile(`\*{2,}`)

// Ignored reports whether the rules ignore the path, given that they ignore no
// folder above it.
func (r Rules) Ignored(name string, isDir bool) bool {
	if len(r) == 0 {
		return false
	}
	parts := strings.Split(name, "/")
	for _, rule := range slices.Backward(r) {
		switch rule.match(parts, isDir) {
		case gitignore.Exclude:
			return true
		case gitignore.Include:
			return false
		}
	}
	return false
}

func (rule Rule) match(parts []string, isDir bool) gitignore.MatchResult {
	if !rule.rooted {
		return rule.pattern.Match(parts[len(parts)-1:], isDir)
	}
	parts = parts[rule.depth:]
	if !rule.below && len(parts) > 1 && rule.pattern.Match(parts[:len(parts)-1], true) != gitignore.NoMatch {
		// It matches a folder above. The library takes that for a match of all
		// that is below; here the folder has been judged before.
		return gitignore.NoMatch
	}
	return rule.pattern.Match(parts, isDir)
}

package tool

import (
	"context"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/agentworker/worker/tool/internal/fileglob"
)

// gitDir is skipped wherever it is.
const gitDir = ".git"

// The bounds of what is read from .gitignore files: every entry of a folder is
// matched against all rules that hold there.
const (
	maxIgnoreBytes = 1 << 20 // of one file
	maxIgnoreLine  = 4096    // bytes of one line, as long as a path may be
	maxIgnoreRules = 5000    // that hold in one folder, with those from above
)

// ignoreRules are the lines of the .gitignore files from the root down to a
// folder, those that win last.
type ignoreRules []ignoreRule

type ignoreRule struct {
	pattern gitignore.Pattern
	depth   int  // of the folder that the file is in: the number of its segments
	rooted  bool // matched against the path below that folder, not the base name
	below   bool // ends in "/**"
}

// rulesFor returns the rules that hold in the folder dir. If dir is itself
// ignored, those of the folders above it do not count: who asks for an ignored
// folder by name wants to see what is in it.
func (w *walker) rulesFor(ctx context.Context, dir string) ignoreRules {
	rules := w.readIgnoreFile(ctx, nil, gitDir+"/info/exclude", 0)
	rules = w.readIgnoreFile(ctx, rules, ".gitignore", 0)
	if dir == "." {
		return rules
	}
	at := ""
	for i, name := range strings.Split(dir, "/") {
		at = path.Join(at, name)
		if rules.ignored(at, true) || name == gitDir {
			rules = nil
		}
		rules = w.readIgnoreFile(ctx, rules, at+"/.gitignore", i+1)
	}
	return rules
}

// rulesIn returns the rules that hold in the folder dir, given those that hold
// in the one above it.
func (w *walker) rulesIn(ctx context.Context, dir string, above ignoreRules) ignoreRules {
	return w.readIgnoreFile(ctx, above, dir+"/.gitignore", strings.Count(dir, "/")+1)
}

// readIgnoreFile returns rules and those of a file, if there is one to read. It
// stops when ctx ends, and notes in w.unreadRules what is beyond the bounds.
func (w *walker) readIgnoreFile(ctx context.Context, rules ignoreRules, name string, depth int) ignoreRules {
	if ctx.Err() != nil {
		return rules
	}
	f, info, err := w.ws.files.OpenFile(name)
	if err != nil {
		return rules
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes))
	if err != nil {
		return rules
	}
	w.unreadRules = w.unreadRules || info.Size() > maxIgnoreBytes
	rules = slices.Clip(rules) // siblings share what is above them
	for line := range strings.Lines(strings.TrimPrefix(string(text), string(utf8BOM))) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if len(line) > maxIgnoreLine {
			w.unreadRules = true
			continue
		}
		if len(rules) >= maxIgnoreRules {
			w.unreadRules = true
			break
		}
		if ctx.Err() != nil {
			break
		}
		rules = append(rules, parseIgnoreLine(line, depth))
	}
	return rules
}

// parseIgnoreLine says to the library what git understands by a line. Each line
// is given to it without a folder, and match gives it the path below the
// folder, or the base name alone for a pattern without a slash: it would match
// that against the names of all folders above too, and let "!keep" bring back
// what git ignores in keep. It knows neither "[!a]" nor "**" within a name, and
// takes "logs/**" for the folder as well, where "!logs/keep" could not help.
func parseIgnoreLine(line string, depth int) ignoreRule {
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
	rule := ignoreRule{depth: depth, rooted: len(segments) > 1}
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

// ignored reports whether the rules ignore the path, given that they ignore no
// folder above it.
func (r ignoreRules) ignored(name string, isDir bool) bool {
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

func (rule ignoreRule) match(parts []string, isDir bool) gitignore.MatchResult {
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

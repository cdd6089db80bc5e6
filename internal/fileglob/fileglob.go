// Package fileglob matches paths of a workspace with the patterns that models
// write.
package fileglob

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Glob is a compiled pattern of glob or of the include of grep.
//
// The pattern is matched against the whole of a slash-separated path. "*" and "?" stop
// at a slash, "**" as a whole segment is any number of folders, none included; "[a-z]"
// and "[!a-z]" are one character, "{a,b}" alternatives, which may be nested and contain
// slashes; a backslash takes the meaning from the next character. A segment also matches
// a name that is spelled like it: "app/[id]/page.tsx" finds that file. A name that begins
// with a dot is like any other. A pattern or alternative without a slash is matched
// against the base name, at any depth. A slash at the end means everything below the
// folder.
//
// It is not the dialect of permission rules, in which "*" crosses slashes. Nor is
// it doublestar's: that has no base names within braces and cannot tell which
// folders to skip, so the front would stay, and only matchSegments would go.
type Glob struct {
	alternatives [][]segment
}

// segment is what a pattern says of one name of a path.
type segment struct{ pattern, name string }

// anyDepth is the segment that stands for any number of folders.
var anyDepth = segment{"**", "**"}

// The bounds of a pattern.
const (
	maxGlobBytes        = 1000
	maxGlobAlternatives = 256
)

// Compile returns the glob of a pattern, or an error that says what is wrong
// with it.
func Compile(pattern string) (*Glob, error) {
	if pattern == "" {
		return nil, fmt.Errorf("pattern is empty: give one such as %q", "**/*.go")
	}
	if len(pattern) > maxGlobBytes {
		return nil, fmt.Errorf("pattern has %d bytes, at most %d are allowed", len(pattern), maxGlobBytes)
	}
	whole := pattern
	if strings.HasSuffix(whole, "/") {
		whole += "**"
	}
	expanded, err := expandBraces(whole)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	g := &Glob{}
	for _, p := range expanded {
		segments, err := globSegments(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		g.alternatives = append(g.alternatives, segments)
	}
	return g, nil
}

// globSegments checks a pattern without braces and splits it at its slashes.
func globSegments(p string) ([]segment, error) {
	if strings.HasPrefix(p, "/") {
		return nil, fmt.Errorf("it begins with a slash: patterns are relative to path")
	}
	if p != "" && !strings.Contains(p, "/") {
		p = "**/" + p
	}
	var segments []segment
	for s := range strings.SplitSeq(p, "/") {
		switch {
		case s == "" || s == ".":
			continue
		case s == "..":
			return nil, fmt.Errorf("it contains %q: use path to search another folder", "..")
		case s == "**" && len(segments) > 0 && segments[len(segments)-1] == anyDepth:
			continue
		}
		pattern := GoClasses(s)
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("segment %q: a %q without its end, or a backslash at the end", pattern, "[")
		}
		segments = append(segments, segment{pattern, s})
	}
	return segments, nil
}

// Match reports whether the glob matches the path name.
func (g *Glob) Match(name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(g.alternatives, func(segments []segment) bool {
		return matchSegments(segments, parts)
	})
}

// matchSegments goes back, after a mismatch, to the last "**" only: what those
// before it have matched stays right, as for "*" in a name.
func matchSegments(segments []segment, parts []string) bool {
	s, p := 0, 0
	backS, backP := -1, 0
	for p < len(parts) {
		switch {
		case s < len(segments) && segments[s] == anyDepth:
			backS, backP = s, p
			s++
		case s < len(segments) && segments[s].match(parts[p]):
			s++
			p++
		case backS >= 0:
			backP++
			s, p = backS+1, backP
		default:
			return false
		}
	}
	for s < len(segments) && segments[s] == anyDepth {
		s++
	}
	return s == len(segments)
}

// MayMatchBelow reports whether a path below the folder dir may match.
func (g *Glob) MayMatchBelow(dir string) bool {
	parts := strings.Split(dir, "/")
	return slices.ContainsFunc(g.alternatives, func(segments []segment) bool {
		for i, part := range parts {
			switch {
			case i == len(segments):
				return false
			case segments[i] == anyDepth:
				return true
			case !segments[i].match(part):
				return false
			}
		}
		return len(segments) > len(parts)
	})
}

func (s segment) match(name string) bool {
	ok, err := path.Match(s.pattern, name)
	return ok && err == nil || s.name == name
}

// expandBraces returns the patterns that p means, each with one alternative chosen in
// each pair of braces.
func expandBraces(p string) ([]string, error) {
	done, todo := []string(nil), []string{p}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		open, commas, end, err := firstBraces(p)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			done = append(done, p)
		} else {
			from := open + 1
			for _, to := range append(commas, end) {
				todo = append(todo, p[:open]+p[from:to]+p[end+1:])
				from = to + 1
			}
		}
		if len(done)+len(todo) > maxGlobAlternatives {
			return nil, fmt.Errorf("its braces mean more than %d patterns", maxGlobAlternatives)
		}
	}
	return done, nil
}

// firstBraces finds the first outermost pair of braces of p, and the commas
// that part its alternatives. open is -1: there is none.
func firstBraces(p string) (open int, commas []int, end int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(p, i)
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 1 {
				return open, commas, i, nil
			}
			depth = max(0, depth-1)
		}
	}
	if depth > 0 {
		return 0, nil, 0, fmt.Errorf("the brace at offset %d is never closed", open)
	}
	return -1, nil, 0, nil
}

// GoClasses writes the negated classes of s as path.Match wants them.
func GoClasses(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '[':
			if i+1 < len(b) && b[i+1] == '!' {
				b[i+1] = '^'
			}
			i = classEnd(s, i)
		}
	}
	return string(b)
}

// classEnd returns the offset of the "]" that ends the class which begins at
// p[i], or i if there is none.
func classEnd(p string, i int) int {
	for j := i + 1; j < len(p); j++ {
		switch p[j] {
		case '\\':
			j++
		case ']':
			return j
		}
	}
	return i
}

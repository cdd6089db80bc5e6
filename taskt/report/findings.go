package report

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Finding is a place of the workspace that an answer names, with the line that names it.
type Finding struct {
	Path   string `json:"path"` // relative to the workspace
	Line   int    `json:"line"`
	Text   string `json:"text"`   // without the mark of its list
	Severe bool   `json:"severe"` // the line begins with a word for an error, or is one of BLOCKERS
}

// severe is what a line begins with that tells of an error.
var severe = regexp.MustCompile(`(?i)^[^\pL]*(?:error|critical|high|blocker|severe)\b`)

// listed is the mark of a list's item.
var listed = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])?\s+`)

// Findings returns the places that an answer names and that are in the folder root, each
// once, in their order; 100 at most. Nothing leads out of root.
func Findings(root, answer string) []Finding {
	if len(answer) > maxReport {
		answer = answer[:maxReport]
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	blockers := ""
	if r := Parse(answer); r != nil {
		blockers = r.Blockers
	}
	var all []Finding
	seen := make(map[string]bool)
	counted := make(map[string]int)
	for text := range strings.Lines(answer) {
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			name, ok := local(root, m[1])
			line, err := strconv.Atoi(m[2])
			if key := name + ":" + m[2]; !ok || err != nil || seen[key] || len(all) == maxEvidence {
				continue
			} else {
				seen[key] = true
			}
			if lines, why := count(dir, name, counted); why != "" || line < 1 || line > lines {
				continue
			}
			text := strings.TrimSpace(listed.ReplaceAllString(text, ""))
			all = append(all, Finding{Path: name, Line: line, Text: text, Severe: severe.MatchString(place.ReplaceAllString(text, "")) || blockers != "" && strings.Contains(blockers, text)})
		}
	}
	return all
}

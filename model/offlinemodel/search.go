package offlinemodel

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// Bounds of a search and of its answer.
const (
	maxWords  = 6
	maxPlaces = 10
	maxLine   = 140 // characters of a line that is shown
)

// stopWords say nothing of where something is.
var stopWords = strings.Fields("the a an and or of to in on at by for from with is are was were be been do does did has have had can could will would should " +
	"where what which who when why how it its this that these those there here me my we our you your i not no any all as if then than so " +
	"find show tell list explain describe please look up about file files code repository project")

// search is what the conversation holds of a search.
type search struct {
	words  []string                  // word stems in small letters, most words of the prompt
	lines  map[string]map[int]string // with at least one of the words, by file
	begun  bool
	errors []string
}

// place is a line that may answer the question.
type place struct {
	path  string
	line  int
	text  string
	score float64
}

var (
	wordPattern = regexp.MustCompile(`[\p{L}\p{N}_]{2,}`)
	endings     = regexp.MustCompile(`(?:ing|ed|es|s|e)$`)
	grepLine    = regexp.MustCompile(`^(.+?):([1-9]\d{0,8}): ?(.*)$`)
	definition  = regexp.MustCompile(`^\s*(?:(?:export|pub|public|private|static|async)\s+)*(?:func|function|def|class|type|fn|const|struct|interface|enum|trait)\b`)
	lesser      = regexp.MustCompile(`(?i)(?:^|/)\.|test|spec|fixture|example|bench|vendor|node_modules|\.(?:md|txt|json|ya?ml|lock|svg|html?)$`)
)

// newSearch reads what grep has found for the prompt so far.
func newSearch(prompt string, done []exchange) *search {
	s := &search{lines: map[string]map[int]string{}}
	for _, w := range wordPattern.FindAllString(strings.ToLower(prompt), -1) {
		if slices.Contains(stopWords, w) {
			continue
		}
		if stem := endings.ReplaceAllString(w, ""); len(stem) > 3 {
			w = stem
		}
		if !slices.Contains(s.words, w) && len(s.words) < maxWords {
			s.words = append(s.words, w)
		}
	}
	for _, e := range done {
		switch {
		case e.call.tool != toolcatalog.Grep:
		case e.isError:
			s.begun, s.errors = true, append(s.errors, shorten(e.text))
		default:
			s.begun = true
			for l := range strings.Lines(e.text) {
				m := grepLine.FindStringSubmatch(strings.TrimRight(l, "\r\n"))
				if m == nil || !filepath.IsLocal(m[1]) || strings.Contains(m[3], prompt) {
					continue
				}
				if s.lines[m[1]] == nil {
					s.lines[m[1]] = map[int]string{}
				}
				n, _ := strconv.Atoi(m[2]) // at most 9 digits
				s.lines[m[1]][n] = m[3]
			}
		}
	}
	return s
}

// calls returns the calls that begin the search: a grep for each word.
func (s *search) calls() (calls []call) {
	if s.begun {
		return nil
	}
	for _, w := range s.words {
		first := string([]rune(w)[:1]) // the rest as written: a literal makes a search fast
		calls = append(calls, call{toolcatalog.Grep, arguments{Pattern: "(?i:" + first + ")" + regexp.QuoteMeta(w[len(first):])}})
	}
	return calls
}

// places returns the best line of each file, the best first. A line scores by the words on
// it, in its file and in the file's path. A word counts less the more files have it.
func (s *search) places() []place {
	has := func(text, word string) bool { return strings.Contains(strings.ToLower(text), word) }
	in := map[string]map[string]bool{} // words by file
	weights := map[string]float64{}
	for _, w := range s.words {
		files := 0
		for file, lines := range s.lines {
			if in[file] == nil {
				in[file] = map[string]bool{}
			}
			for _, l := range lines {
				in[file][w] = in[file][w] || has(l, w)
			}
			if in[file][w] {
				files++
			}
		}
		weights[w] = 1 / (1 + math.Log1p(float64(files)))
	}
	var places []place
	for file, lines := range s.lines {
		best := place{path: file}
		for n, l := range lines {
			score := 0.0
			for _, w := range s.words {
				if has(l, w) {
					score += weights[w]
				}
			}
			if definition.MatchString(l) {
				score *= 1.5
			}
			if score > best.score || score == best.score && n < best.line {
				best.line, best.text, best.score = n, l, score
			}
		}
		for _, w := range s.words {
			if in[file][w] {
				best.score += weights[w] / 2
			}
			if has(file, w) {
				best.score += weights[w] / 2
			}
		}
		if lesser.MatchString(file) {
			best.score /= 2
		}
		places = append(places, best)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.path, b.path))
	})
	return places
}

// answer lists the best places, each with its line.
func (s *search) answer() string {
	places := s.places()
	text := "These lines have most of " + code(strings.Join(s.words, " ")) + ":\n"
	switch {
	case len(s.words) == 0:
		text = "The prompt has no word to search for."
	case len(places) == 0:
		text = "Nothing was found for " + code(strings.Join(s.words, " ")) + "."
	}
	for _, p := range places[:min(len(places), maxPlaces)] {
		text += fmt.Sprintf("\n- %s — %s", code(fmt.Sprintf("%s:%d", p.path, p.line)), code(shorten(p.text)))
	}
	if n := len(s.errors); n > 0 {
		text += fmt.Sprintf("\n\n%d searches failed: %s", n, s.errors[0])
	}
	return text
}

// code writes s as inline code of Markdown.
func code(s string) string {
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	marks := "``"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + " " + s + " " + marks
}

// shorten returns the start of a text on one line.
func shorten(s string) string { return termtext.Cut(strings.Join(strings.Fields(s), " "), maxLine) }

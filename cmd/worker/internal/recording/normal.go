package recording

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// Normal replaces what differs from run to run by fixed words. It is safe for concurrent use.
type Normal struct{ folders, back *strings.Replacer }

// NewNormal returns a Normal for a run. folders has the word that replaces each folder.
func NewNormal(folders map[string]string) *Normal {
	type pair struct{ folder, word string }
	var pairs []pair
	for folder, word := range folders {
		pairs = append(pairs, pair{folder, word})
		if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
			pairs = append(pairs, pair{real, word})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(len(b.folder), len(a.folder)) })
	var words, back []string
	for folder, word := range folders {
		back = append(back, word, folder)
	}
	for _, p := range pairs {
		words = append(words, p.folder, p.word)
		if slashed := filepath.ToSlash(p.folder); slashed != p.folder {
			words = append(words, slashed, p.word)
		}
	}
	return &Normal{strings.NewReplacer(words...), strings.NewReplacer(back...)}
}

// What differs from run to run: our own ids, points in time, where it ran, and how long something took.
var (
	ids   = regexp.MustCompile(`\b(ses|msg|apr)_[a-z0-9]{16}(?:_results)?\b`)
	dates = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`)
	where = regexp.MustCompile(`(?m)^Environment: workspace .*, today is .*\.$`)
	times = regexp.MustCompile(`\b\d+(?:\.\d+)?(?:ns|µs|ms|s)\b`)
)

// Text returns a text without what differs.
func (n *Normal) Text(text string) string {
	text = where.ReplaceAllString(n.folders.Replace(text), "<environment>")
	text = ids.ReplaceAllString(text, "${1}_*")
	text = dates.ReplaceAllString(text, "<time>")
	return times.ReplaceAllString(text, "<duration>")
}

// message is the text by which messages are compared, and which people read.
func (n *Normal) message(m *model.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Role) + "\n")
	if m.Text != "" {
		b.WriteString(n.Text(m.Text) + "\n")
	}
	writeImages(&b, m.Images)
	for _, c := range m.ToolCalls {
		b.WriteString("calls " + c.Name + " " + n.Text(arguments(c.Arguments)) + "\n")
	}
	for _, r := range m.ToolResults {
		word := "result"
		if r.IsError {
			word = "error"
		}
		b.WriteString(word + " of " + r.ToolCallID + "\n" + n.Text(r.Text) + "\n")
		writeImages(&b, r.Images)
	}
	return b.String()
}

// writeImages writes a line for each image, with its hash instead of its bytes.
func writeImages(b *strings.Builder, images []model.Image) {
	for _, i := range images {
		b.WriteString("image " + i.String() + ", SHA-256 " + i.SHA256 + "\n")
	}
}

// arguments returns JSON in one form.
func arguments(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// call returns the recorded form of a request, and adds its texts to r.
func (n *Normal) call(r *Recording, req *model.Request) *Call {
	c := &Call{System: r.text(n.Text(req.System)), NoToolCalls: req.NoToolCalls}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, t.Name)
	}
	slices.Sort(c.Tools)
	for i := range req.Messages {
		c.Messages = append(c.Messages, r.text(n.message(&req.Messages[i])))
	}
	return c
}

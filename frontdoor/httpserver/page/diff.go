package page

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// DiffLine is a line of what an edit changes.
type DiffLine struct {
	Op   string  `json:"op"` // add, del, same, or at: what comes is elsewhere
	Text []Piece `json:"text"`
}

// Bounds of a difference that is shown: the bytes of both texts, and the lines.
const (
	maxDiffed    = 64 << 10
	maxDiffLines = 400
)

// editOf returns what a call of a file tool changes; nil means it is none, or too large.
func editOf(tool, arguments string) []DiffLine {
	type edit struct{ OldText, NewText string }
	var args struct {
		edit
		Edits          []edit
		Content, Input string
	}
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil
	}
	switch tool {
	case toolcatalog.WriteFile:
		return difference("", args.Content)
	case toolcatalog.ApplyPatch:
		return patched(args.Input)
	case toolcatalog.EditFile:
		if len(args.Edits) == 0 {
			return difference(args.OldText, args.NewText)
		}
	}
	var lines []DiffLine
	for i, e := range args.Edits {
		if i > 0 {
			lines = append(lines, elsewhere("…"))
		}
		if lines = append(lines, difference(e.OldText, e.NewText)...); len(lines) > maxDiffLines {
			return append(lines[:maxDiffLines], elsewhere("… more is not shown"))
		}
	}
	return lines
}

func elsewhere(text string) DiffLine { return DiffLine{"at", []Piece{{Text: text}}} }

// patched returns the lines of a patch.
func patched(patch string) (lines []DiffLine) {
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		op, text := "at", line
		if line != "" {
			switch line[0] {
			case '+':
				op, text = "add", line[1:]
			case '-':
				op, text = "del", line[1:]
			case ' ':
				op, text = "same", line[1:]
			}
		}
		if len(lines) == maxDiffLines {
			return append(lines, elsewhere("… more is not shown"))
		}
		pieces, _ := visible(text, termtext.MaxCard)
		lines = append(lines, DiffLine{op, pieces})
	}
	return lines
}

func difference(before, after string) []DiffLine {
	if len(before)+len(after) > maxDiffed {
		return nil
	}
	before, after = completeLines(before), completeLines(after)
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return nil
	}
	var lines []DiffLine
	for i, hunk := range u.Hunks {
		if i > 0 {
			lines = append(lines, elsewhere("…"))
		}
		for _, line := range hunk.Lines {
			if len(lines) == maxDiffLines {
				return append(lines, elsewhere("… more is not shown"))
			}
			op := "same"
			switch line.Kind {
			case udiff.Insert:
				op = "add"
			case udiff.Delete:
				op = "del"
			}
			pieces, _ := visible(strings.TrimSuffix(line.Content, "\n"), termtext.MaxCard)
			lines = append(lines, DiffLine{op, pieces})
		}
	}
	return lines
}

// completeLines ends a text with a line end, so that its last line compares like the others.
func completeLines(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

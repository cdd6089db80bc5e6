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
	var args struct{ OldText, NewText, Content string }
	if tool != toolcatalog.EditFile && tool != toolcatalog.WriteFile || json.Unmarshal([]byte(arguments), &args) != nil {
		return nil
	}
	before, after := args.OldText, args.NewText
	if tool == toolcatalog.WriteFile {
		before, after = "", args.Content
	}
	return difference(before, after)
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
			lines = append(lines, DiffLine{"at", []Piece{{Text: "…"}}})
		}
		for _, line := range hunk.Lines {
			if len(lines) == maxDiffLines {
				return append(lines, DiffLine{"at", []Piece{{Text: "… more is not shown"}}})
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

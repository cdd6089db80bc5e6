package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// column is one of the table.
type column struct {
	head  string
	width int // at least
	grows int // how much of the room that is left it gets, against the others
	most  int // so wide at most; 0 means as there is room
	right bool
	text  func(r *live.Row, now time.Time) string
}

// columns are all of them, in their order.
var columns = []column{
	{head: "AGENT", width: 18, grows: 3, text: func(r *live.Row, _ time.Time) string { return r.Branch + r.Name() }},
	{head: "STATUS", width: 11, text: func(r *live.Row, _ time.Time) string { return r.State() }},
	{head: "MODEL", width: 12, grows: 1, most: 24, text: func(r *live.Row, _ time.Time) string { return modelName(r.Model) }},
	{head: "DOING", width: 13, grows: 3, text: func(r *live.Row, _ time.Time) string { return r.Doing() }},
	{head: "AGE", width: 4, right: true, text: func(r *live.Row, now time.Time) string { return termtext.Duration(r.Age(now)) }},
	{head: "STEPS", width: 5, right: true, text: func(r *live.Row, _ time.Time) string { return strconv.Itoa(r.Steps) }},
	{head: "TOKENS", width: 6, right: true, text: func(r *live.Row, _ time.Time) string {
		return termtext.Count(r.Usage.InputTokens + r.Usage.OutputTokens)
	}},
	{head: "COST", width: 8, right: true, text: func(r *live.Row, _ time.Time) string { return r.Usage.ShowCost() }},
}

// dropped are the columns that can be missed, the first one first. The line below the
// table has what they say of the selected session.
var dropped = []string{"STEPS", "TOKENS", "COST", "MODEL", "AGE", "DOING", "STATUS"}

const (
	gap    = 2 // columns between two of a list
	gutter = 2 // before the first one: ">" the selected session, "!" one that needs somebody
)

// fit returns the columns that there is room for, as wide as they are shown.
func fit(width int) []column {
	shown := slices.Clone(columns)
	spare := func() int {
		n := width - gutter - gap*(len(shown)-1)
		for _, c := range shown {
			n -= c.width
		}
		return n
	}
	for _, name := range dropped {
		if spare() >= 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(c column) bool { return c.head == name })
	}
	grow(shown, spare())
	return shown
}

// grow hands out the room that is left; below 0 it is taken from the first column.
func grow(shown []column, room int) {
	if room < 0 {
		shown[0].width = max(1, shown[0].width+room)
		return
	}
	for room > 0 {
		left := room
		for i := range shown {
			c := &shown[i]
			for n := 0; n < c.grows && room > 0 && (c.most == 0 || c.width < c.most); n++ {
				c.width++
				room--
			}
		}
		if room == left {
			return
		}
	}
}

// line is a line of the table.
func line(shown []column, text func(*column) string) string {
	cells := make([]string, len(shown))
	for i := range shown {
		cells[i] = terminal.Pad(text(&shown[i]), shown[i].width, shown[i].right)
	}
	return strings.Join(cells, strings.Repeat(" ", gap))
}

// modelName is a model without its provider.
func modelName(model string) string {
	if _, name, ok := strings.Cut(model, "/"); ok {
		return name
	}
	return model
}

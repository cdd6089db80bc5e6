// Package question shows a call that waits for a person: one document, the same at every door.
// A door has its bounds in the table [Doors]. What it can't show it says, and then it offers no
// "always".
package question

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/record"
)

// Door is a place where a question is shown, with its bounds.
type Door struct {
	Name  string
	Chars int // of one text
	Lines int // of one text
	Items int // of what rules see, and of the rules that "always" adds
}

// The doors. Where a person scrolls, only the question's own bound holds: 128 KiB.
var (
	Terminal = Door{"terminal", termtext.MaxQuestion, 40, 60}    // the prompt of 'task' and 'run'; v shows [Whole]
	Whole    = Door{"approvals show", 1 << 20, 1 << 20, 1 << 10} // 'approvals show', top, and v
	Page     = Door{"page", 1 << 20, 1 << 20, 1 << 10}           // the card of the page
	Editor   = Door{"editor", termtext.MaxQuestion, 200, 60}     // a question of ACP
	Form     = Door{"form", termtext.MaxForm, 100, 60}           // a form of an MCP host: most show a small box
	Notice   = Door{"notification", 1000, 20, 10}                // a message of the setting notify: it is read on a phone
	Doors    = []Door{Terminal, Whole, Page, Editor, Form, Notice}
)

// View is a question as a door shows it. Its texts show characters that are invisible, or
// change the direction of text, as escapes.
type View struct {
	Who    string // the agents from the caller down to the one that asks: "planner › reviewer"
	Title  string // it follows "asks to"
	Tool   string
	Ask    *Ask // what the agent itself asks; nil means that it asks for permission. Title and Parts have it, too
	Parts  []Part
	Wants  []string // what the rules see, where title and parts do not say it
	Reason string   // the rule that asks, with its file and line
	For    string   // the persons who asked for the work; empty means that they are not known

	// Always are the rules that "always" adds, each a line of permissions.jsonc. Empty means
	// that there is no "always".
	Always []string

	// LeftOut says what is not shown, and where it is. Empty means that all of it is.
	LeftOut string
}

// Part is a text of a question, in lines.
type Part struct {
	Name  string
	Form  string // text, command, diff
	Lines []string
}

// New returns an approval as a door shows it.
func New(a *approval.Approval, d Door) View {
	v := View{
		Who: who(a), Tool: termtext.OneLine(a.Tool, termtext.MaxName), For: people(a.AskedBy),
	}
	v.Reason, _ = termtext.Visible(a.Reason, termtext.MaxText)
	all := true
	v.Title, all = termtext.Visible(a.Question.Title, d.Chars)
	shown := v.Title
	for _, p := range a.Question.Parts {
		lines, whole := d.lines(p.Text)
		name, _ := termtext.Visible(p.Name, termtext.MaxLabel)
		v.Parts, all = append(v.Parts, Part{name, p.Form, lines}), all && whole
		shown += "\n" + strings.Join(lines, "\n")
	}
	wants, whole := d.bounded(a.Patterns, d.Items)
	all = all && whole
	for _, want := range wants {
		if !strings.Contains(shown, want) {
			v.Wants = append(v.Wants, want)
		}
	}
	if a.Ask != nil {
		v.Ask, whole = newAsk(a.Ask, d)
		all = all && whole
	}
	if !all {
		v.LeftOut = fmt.Sprintf("Not all of it is shown here: worker approvals show %s has it.", a.ID)
	}
	if a.Question.LeftOut != "" {
		v.LeftOut = strings.TrimSpace(a.Question.LeftOut + "worker approvals list --json has the arguments.")
	}
	if v.LeftOut == "" {
		v.Always = d.always(a)
	}
	return v
}

// always returns the lines that "always" adds; nil means that not all of them can be shown.
func (d Door) always(a *approval.Approval) []string {
	var rules []string
	for _, pattern := range gate.AlwaysRules(a.AlwaysPatterns) {
		rules = append(rules, ruleLine(a.Tool, pattern))
	}
	if shown, whole := d.bounded(rules, d.Items); whole {
		return shown
	}
	return nil
}

// ruleLine is a rule as permissions.jsonc has it.
func ruleLine(tool, pattern string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]map[string]string{tool: {pattern: "allow"}}); err != nil { // texts always have a JSON form
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// lines returns a text in visible lines within the door's bounds. whole false: there is more.
func (d Door) lines(text string) (lines []string, whole bool) {
	// A tab is seen as what it is. Other controls are not.
	all := strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\t", "    "), "\n")
	return d.bounded(all, d.Lines)
}

// bounded returns texts as visible ones. If there are too many, it returns the first and the
// last, and between them a line that counts the others. whole false: something is left out.
func (d Door) bounded(texts []string, most int) (shown []string, whole bool) {
	whole = true
	size := make([]int, len(texts))
	total := 0
	shown = make([]string, len(texts))
	for i, text := range texts {
		visible, complete := termtext.Visible(text, d.Chars)
		shown[i], size[i] = visible, utf8.RuneCountInString(visible)+1
		total, whole = total+size[i], whole && complete
	}
	if len(shown) <= most && total <= d.Chars {
		return shown, whole
	}
	for i := range shown { // so that there is room for the first and for the last
		if size[i] > d.Chars/4 {
			shown[i], _ = termtext.Visible(texts[i], d.Chars/4)
			size[i], whole = utf8.RuneCountInString(shown[i])+1, false
		}
	}
	head, tail := 0, len(shown)
	for n := 0; head < tail && head < most*3/4 && n+size[head] <= d.Chars*2/3; head++ {
		n += size[head]
	}
	for n := 0; tail > head && len(shown)-tail < max(1, most/4) && n+size[tail-1] <= d.Chars/3; tail-- {
		n += size[tail-1]
	}
	if head == tail { // texts that are cut, each within the bound
		return shown, whole
	}
	note := fmt.Sprintf("… %s …", termtext.Plural(tail-head, "more line"))
	return slices.Concat(shown[:head], []string{note}, shown[tail:]), false
}

// Lines returns the question as text: a headline, and below it all parts, indented.
func (v View) Lines() []string {
	lines := []string{v.Headline()}
	if v.Ask != nil {
		if lines = append(lines, v.Ask.lines()...); v.LeftOut != "" {
			lines = append(lines, "  "+v.LeftOut)
		}
		return lines
	}
	add := func(indent string, texts ...string) {
		for _, text := range texts {
			lines = append(lines, indent+text)
		}
	}
	for _, p := range v.Parts {
		if len(v.Parts) > 1 || p.Form != event.FormCommand {
			add("  ", p.Name+":")
		}
		add("    ", p.Lines...)
	}
	if len(v.Wants) > 0 {
		add("  ", "the rules see:")
		add("    ", v.Wants...)
	}
	add("  ", v.Reason)
	if v.For != "" {
		add("  ", "asked for by "+v.For)
	}
	if v.LeftOut != "" {
		add("  ", v.LeftOut)
	}
	if len(v.Always) > 0 {
		add("  ", `"always" adds to permissions.jsonc:`)
		add("    ", v.Always...)
	}
	return lines
}

// Headline says in a line who asks what.
func (v View) Headline() string {
	if v.Ask != nil {
		return v.Who + " asks a question:"
	}
	return fmt.Sprintf("%s asks to %s (%s)", v.Who, v.Title, v.Tool)
}

// OneLine is the headline with the whole command, where the call is one.
func (v View) OneLine() string {
	for _, p := range v.Parts {
		if p.Form == event.FormCommand {
			return v.Who + " asks to run " + strings.Join(p.Lines, `\n`)
		}
	}
	return v.Headline()
}

// who names the agents from the caller down to the one that asks.
func who(a *approval.Approval) string {
	var names []string
	for _, hop := range a.Path {
		if hop.AgentType != "" {
			names = append(names, termtext.OneLine(hop.AgentType, termtext.MaxName))
		}
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, " › ")
	case a.Agent != "":
		return termtext.OneLine(a.Agent, termtext.MaxName)
	}
	return "the caller"
}

// people names who has asked for the work. Somebody unknown has no name.
func people(askedBy []record.Person) string {
	var names []string
	for _, p := range askedBy {
		if p.Named() {
			names = append(names, p.String())
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

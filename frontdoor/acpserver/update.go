package acpserver

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// shown is a session as a client sees it.
type shown struct {
	dir   string // what its paths are relative to
	state string // of a subagent, as its client was told last

	todo   bool            // it keeps a list, which is its plan
	broken bool            // the answer that was shown last broke off
	kept   map[string]bool // calls that are shown as a plan, by their ids
}

// kindOf is the kind of a tool, as the protocol names it.
func kindOf(tool string) acp.ToolKind {
	t, _ := toolcatalog.Find(tool)
	return acp.ToolKind(t.Kind)
}

// updates are what the client is shown of an event of the session.
func (s *shown) updates(ev event.Event) []acp.SessionUpdate {
	switch ev := ev.(type) {
	case event.ContentDelta:
		text := ev.Delta
		if s.broken {
			s.broken, text = false, "\n\n[The answer broke off, and begins anew.]\n\n"+text
		}
		return []acp.SessionUpdate{acp.UpdateAgentMessageText(text)}
	case event.ReasoningDelta:
		return []acp.SessionUpdate{acp.UpdateAgentThoughtText(ev.Delta)}
	case event.ModelRetry: // what was shown can't be taken back
		s.broken = true
	case event.ToolCallStart:
		return s.start(ev)
	case event.ToolCallEnd:
		return s.end(ev)
	case event.Todo:
		s.todo = true
		return []acp.SessionUpdate{todoPlan(ev)}
	case event.Plan:
		if !s.todo {
			return []acp.SessionUpdate{textPlan(ev)}
		}
	}
	return nil
}

func (s *shown) start(ev event.ToolCallStart) []acp.SessionUpdate {
	if ev.ToolName == toolcatalog.Todo || ev.ToolName == toolcatalog.Plan {
		if s.kept == nil {
			s.kept = make(map[string]bool)
		}
		s.kept[ev.ToolCallID] = true
		return nil
	}
	args := argumentsOf(ev.Arguments)
	return []acp.SessionUpdate{acp.StartToolCall(acp.ToolCallId(ev.ToolCallID), ev.Summary(), func(c *acp.SessionUpdateToolCall) {
		c.Kind, c.Status, c.RawInput = kindOf(ev.ToolName), acp.ToolCallStatusInProgress, rawOf(ev.Arguments)
		c.Locations = s.locations(args)
		c.Content = s.diff(ev.ToolName, args)
	})}
}

// end shows an outcome. An edit that was made keeps its difference as content.
func (s *shown) end(ev event.ToolCallEnd) []acp.SessionUpdate {
	if s.kept[ev.ToolCallID] {
		delete(s.kept, ev.ToolCallID)
		return nil
	}
	opts := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(statusOf(ev))}
	if ev.IsError || !toolcatalog.IsWriter(ev.ToolName) && ev.ToolName != toolcatalog.ApplyPatch {
		opts = append(opts, acp.WithUpdateContent([]acp.ToolCallContent{block(fenced(termtext.Printable(ev.Result)))}))
	}
	return []acp.SessionUpdate{acp.UpdateToolCall(acp.ToolCallId(ev.ToolCallID), opts...)}
}

func statusOf(ev event.ToolCallEnd) acp.ToolCallStatus {
	if ev.IsError {
		return acp.ToolCallStatusFailed
	}
	return acp.ToolCallStatusCompleted
}

// arguments are those of calls that are shown in a way of their own.
type arguments struct {
	Path             string
	Offset           int
	OldText, NewText string
	Edits            []struct{ OldText, NewText string }
	Content          string
	Input            string // a patch
}

func argumentsOf(raw string) arguments {
	var args arguments
	_ = json.Unmarshal([]byte(raw), &args) // what can't be read is not shown
	return args
}

// rawOf is the input of a call as the protocol has it.
func rawOf(raw string) any {
	if json.Valid([]byte(raw)) {
		return json.RawMessage(raw)
	}
	return raw
}

// locations are the files that a call is about.
func (s *shown) locations(args arguments) []acp.ToolCallLocation {
	if args.Path == "" {
		var all []acp.ToolCallLocation
		for _, path := range toolcatalog.PatchPaths(args.Input) {
			all = append(all, acp.ToolCallLocation{Path: s.abs(path)})
		}
		return all
	}
	at := acp.ToolCallLocation{Path: s.abs(args.Path)}
	if args.Offset > 0 {
		at.Line = &args.Offset
	}
	return []acp.ToolCallLocation{at}
}

func (s *shown) abs(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.dir, path)
}

// diff is what an edit changes, as its tool is told; nil of other calls.
func (s *shown) diff(tool string, args arguments) []acp.ToolCallContent {
	switch {
	case tool == toolcatalog.ApplyPatch && args.Input != "":
		return []acp.ToolCallContent{block(strings.Replace(fenced(termtext.Printable(args.Input)), "\n", "diff\n", 1))}
	case args.Path == "":
		return nil
	case tool == toolcatalog.EditFile && len(args.Edits) > 0:
		var all []acp.ToolCallContent
		for _, e := range args.Edits {
			all = append(all, acp.ToolDiffContent(s.abs(args.Path), e.NewText, e.OldText))
		}
		return all
	case tool == toolcatalog.EditFile:
		return []acp.ToolCallContent{acp.ToolDiffContent(s.abs(args.Path), args.NewText, args.OldText)}
	case tool == toolcatalog.WriteFile:
		return []acp.ToolCallContent{acp.ToolDiffContent(s.abs(args.Path), args.Content)}
	}
	return nil
}

func block(text string) acp.ToolCallContent { return acp.ToolContent(acp.TextBlock(text)) }

var fences = regexp.MustCompile("`+")

// fenced returns a text as a code block of Markdown, which no line of it can end.
func fenced(text string) string {
	longest := 2
	for _, run := range fences.FindAllString(text, -1) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

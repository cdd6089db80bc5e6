package record

import (
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// Progress is how far a session has come with its own todo list.
type Progress struct {
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Current string `json:"current,omitempty"` // the first item in progress, else the first that is not done
}

// ProgressOf returns the progress that a list shows; nil means the list is empty.
func ProgressOf(todo event.Todo) *Progress {
	if len(todo.Items) == 0 {
		return nil
	}
	p := &Progress{Total: len(todo.Items)}
	running := false
	for _, item := range todo.Items {
		switch {
		case item.Status == event.TodoDone:
			p.Done++
		case item.Status == event.TodoInProgress && !running:
			p.Current, running = item.Text, true
		case p.Current == "":
			p.Current = item.Text
		}
	}
	return p
}

// String is the progress in a few words: 3/5 done: the current item.
func (p *Progress) String() string {
	text := fmt.Sprintf("%d/%d done", p.Done, p.Total)
	if p.Current != "" {
		text += ": " + termtext.OneLine(p.Current, termtext.MaxTitle)
	}
	return text
}

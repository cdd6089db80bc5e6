package record

import (
	"fmt"
	"strings"
)

// Below returns a text with a last line that says where a session's changes are. If w is
// nil, they are in the workspace, and the text does not change.
func (w *Worktree) Below(text, sessionID string) string {
	line := ""
	switch {
	case w == nil:
		return text
	case w.Removed:
		line = "[worktree: no files changed]"
	case w.Diffstat == "":
		line = fmt.Sprintf("[worktree: branch %s in %s]", w.Branch, w.Path)
	default:
		line = fmt.Sprintf("[worktree: %s, on branch %s in %s; 'worker sessions apply %s' brings it to the workspace]", w.Diffstat, w.Branch, w.Path, sessionID)
	}
	return strings.TrimRight(text, "\n") + "\n\n" + line
}

// Worktree is the git worktree that was made for a session. It is immutable: to change
// it, a record gets a new one.
type Worktree struct {
	Path     string `json:"path"`
	Branch   string `json:"branch"`
	Diffstat string `json:"diffstat,omitempty"` // what the session has changed, as git says it; empty means not known
	Files    int    `json:"files"`              // how many files the session has changed
	Removed  bool   `json:"removed,omitempty"`  // it was not used, and was removed
	Error    string `json:"error,omitempty"`    // why the changes are not known
}

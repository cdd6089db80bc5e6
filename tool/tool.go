// Package tool holds the interface of a tool that a model may call, and the
// built-in tools: read_file, write_file, edit_file, list_dir, glob, grep and
// shell_exec.
//
// A tool says with [Tool.Values] what a call wants, the gate of the session
// judges it, and only then is [Tool.Run] called. Values is a required method:
// a tool that forgot it does not compile, rather than run unjudged.
//
// The built-in tools, see [Builtin], work in a [Workspace]: files are reached
// through an [os.Root] alone, every result is bounded and says where it was cut,
// and searches honour .gitignore and leave out, counted but unnamed, what
// [Call.Readable] refuses. grep does not look into such files, so that their
// number says nothing of their content. shell_exec is not held by the Root: what
// a command may do is for the gate to judge. It runs without a terminal, with
// an empty stdin and without keys and passwords in its environment,
// and what it leaves in the background is ended when it ends.
package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/permission"
)

// Tool is something a model may call. It is safe for concurrent use: the calls
// of one step run at once, and sessions share one value.
type Tool interface {
	// Spec describes the tool as of now: its name never changes, its
	// description and schema may, between two steps of a session.
	Spec() Spec

	// Values returns what the call wants, for the gate to judge: at least one
	// value, or an error, with which the call is refused. args is a JSON
	// object that has passed the schema. It changes nothing in the world.
	Values(args json.RawMessage) ([]permission.Value, error)

	// Run does the work. An error is an outcome for the model to read, as is
	// a result with IsError: neither ends the session. ctx carries the time
	// limit of the call; Run returns soon after ctx has ended, with nothing of
	// its own left running.
	Run(ctx context.Context, call *Call) (Result, error)
}

// Spec describes a tool to the model.
type Spec struct {
	Name        string // [a-z0-9_]+
	Description string
	InputSchema json.RawMessage // a JSON Schema whose type is object
	ReadOnly    bool            // changes nothing, whatever the arguments

	// Unavailable says that there is nothing to call at the moment: the model
	// is not offered the tool.
	Unavailable bool

	// OwnTimeLimit says that Run bounds its own time; else the session does.
	OwnTimeLimit bool
}

// Call is one call of a tool.
type Call struct {
	ID        string // unique within the session
	SessionID string // the session whose model made the call
	MessageID string // the assistant message that holds the call
	Args      json.RawMessage

	// Values are what Values returned for Args, and what was judged.
	Values []permission.Value

	// Readable reports whether the session may see the file at path, which is
	// slash-separated and relative to the workspace. Tools that list or search leave out what
	// it refuses, and say how many they left out. nil: all is readable.
	Readable func(path string) bool
}

// Result is what a tool hands back to the model.
type Result struct {
	Text      string
	IsError   bool
	Truncated bool // Text was cut; it says itself where and how to see the rest
	// Meta travels beside the text, for hosts and people; the model does not
	// see it. nil: none.
	Meta map[string]any
}

// Errorf returns a result that tells the model of an error.
func Errorf(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

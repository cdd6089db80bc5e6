// Package tool holds the interface of a tool that a model may call, and the
// built-in tools: read_file, write_file, edit_file, apply_patch, list_dir, glob,
// grep and shell_exec.
//
// A tool says with [Tool.Values] what a call wants, the gate of the session
// judges it, and only then is [Tool.Run] called. Values is a required method:
// a tool that forgot it does not compile, rather than run unjudged.
//
// The built-in tools, see [Builtin], work in a [Workspace]: files are reached
// through an [os.Root] alone, every result is bounded and says where it was cut,
// and searches honour .gitignore and leave out, counted but unnamed, what
// [Call.Readable] refuses. grep does not look into such files, so that their
// number says nothing of their content. shell_exec is not held by the Root: it
// runs in a sandbox that is made from the session's rules, see [SandboxOptions],
// without a terminal, with an empty stdin and without keys and passwords in its
// environment, and what it leaves in the background is ended when it ends.
//
// The package has more files than others since what it asks of the system differs
// by system: see platform, open and shell.
package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/permission"
)

// Tool is something a model may call. It is safe for concurrent use: the calls
// of one step run at once, and sessions share one value.
type Tool interface {
	// Spec describes the tool as of now: its name never changes, its
	// description and schema may, between two steps of a session.
	Spec() Spec

	// Values returns what the call wants, for the gate to decide about. It is at least
	// one value (but see [Spec.Follows]). An error refuses the call. args is a JSON
	// object that has passed the schema. It changes nothing in the world.
	Values(args json.RawMessage) ([]permission.Value, error)

	// Describe says what the call would do, for the person who is asked about it. That
	// must be all that Run goes by. call is not yet admitted: it has no values and no
	// rules. Describe changes nothing, and says what it can of bad arguments.
	Describe(call *Call) Description

	// Run does the work. An error is an outcome for the model to read, as is
	// a result with IsError: neither ends the session. ctx carries the time
	// limit of the call; Run returns soon after ctx has ended, with nothing of
	// its own left running.
	//
	// The errors of Values and Run don't name the tool: the session does.
	Run(ctx context.Context, call *Call) (Result, error)
}

// Spec describes a tool to the model.
type Spec struct {
	Name        string // [a-z0-9_]+
	Description string
	InputSchema json.RawMessage // a JSON Schema whose type is object
	ReadOnly    bool            // changes nothing, whatever the arguments

	// Delegates says that the tool changes nothing outside itself: what it starts
	// does, as calls of their own, and Run bounds how many of its calls run at once.
	// Before all other tools that are not ReadOnly the session waits until the call
	// is stored, and it bounds how many of them run at once.
	Delegates bool

	// Follows names another tool, whose allowed calls have made the things that this
	// tool works on. The rules of that tool hold, and Values returns values of that
	// tool, or none. A deny denies; an ask was answered when that call was made. Empty
	// means it has rules of its own. Its own name: the same, and nobody is asked about
	// it.
	Follows string

	// Judged says that a call of a tool with Follows does something of its own: rules ask about its
	// values as about a call of the other tool.
	Judged bool

	// Repeats says that a call that was cut off with its process is made anew after a
	// takeover: it goes on where it was.
	Repeats bool

	// Unavailable says that the tool cannot be called at the moment: the model
	// is not offered the tool.
	Unavailable bool

	// Local says that what is in the arguments stays on this machine: no program and no
	// server gets it.
	Local bool

	// OwnTimeLimit says that Run bounds its own time; else the session does.
	OwnTimeLimit bool

	// Notes says that the tool keeps something of the agent's own, and no task is done by
	// it.
	Notes bool

	// Lasting says that the results of calls stay in the conversation when that is compacted.
	// They are framed as [conversation.Lasting] has it.
	Lasting bool

	// TellsChanges says that [Result.Changes] has all that a call changes.
	TellsChanges bool

	// RuledBy names other tools, all of whose rules hold for calls of this one, which has none
	// of its own: Values returns values of those. nil means it has rules of its own, an empty list
	// that only rules hold which name it.
	RuledBy []string

	// Server is the MCP server whose tool it is; empty means it is of none. Where there are many
	// such tools, only their names are declared.
	Server string

	// Trained says that the tool is for models that are trained to call it. Others are offered
	// it if their agent's rules name it.
	Trained bool
}

// Call is one call of a tool.
type Call struct {
	ID        string    // unique in its session
	SessionID string    // the session whose model made the call
	Agent     string    // its agent; empty means that the session represents a caller
	Began     time.Time // when it began
	MessageID string    // the assistant message that holds the call
	Step      int       // of the session that makes the call, counted from 1; 0 means not known

	// Traceparent is the caller's place in a trace, as package tracecontext accepts it; empty
	// means that there is none.
	Traceparent string

	Args json.RawMessage

	// Values are what Values returned for Args, and what was judged.
	Values []permission.Value

	// Rules have decided about the call, and Approved tells that a person has approved
	// it. Both together determine what the programs of a [Sandboxed] tool may touch.
	// Required for such a tool.
	Rules    *permission.Layers
	Approved bool

	// Judge asks the gate about a value that shows up while the call runs, such
	// as a host that a program connects to. It waits for an answer; an error
	// refuses the value. nil means all such values are refused.
	Judge func(ctx context.Context, value permission.Value) error

	// Ask puts a question of the call's program to a person, and waits for the answer. nil
	// means that nobody can be asked.
	Ask func(ctx context.Context, q Inquiry) (Reply, error)

	// Tell says how far the call is, to those who watch. nil means that nobody is told.
	Tell func(p Progress)

	// Caller waits for the call. nil means that nobody gets its outcome before Run
	// returns.
	Caller Caller

	// Background keeps commands that go on when the call has returned. nil means that
	// none can.
	Background Background

	// Readable reports whether the session may see the file at path, which is
	// slash-separated and relative to the workspace. Tools that list or search leave out what
	// it refuses, and say how many they left out. nil means all is readable.
	Readable func(path string) bool
}

// Inquiry is a question to a person. The answer is a text, unless there are options.
type Inquiry struct {
	Question string
	Options  []string
	Multiple bool // several options may be chosen
	Default  string
}

// Reply is the answer to an [Inquiry]. Without answers nobody has answered, or the person does not
// want to.
type Reply struct {
	Answers  []string
	Declined bool
}

// Progress is what the program of a call says while it works: how far it is, or a line of its
// log.
type Progress struct {
	Done, Total float64 // 0 means not known
	Level       string  // of a line of its log; empty means that it is none
	Message     string
}

// Caller waits for a call.
type Caller interface {
	// Return gives the call its outcome at once, while Run goes on: what that returns
	// is dropped. Only the first outcome counts.
	Return(Result)
}

// Result is what a tool hands back to the model.
type Result struct {
	Text      string
	IsError   bool
	Truncated bool // Text was cut; it says itself where and how to see the rest
	// Meta travels with the text, for hosts and people; the model does not
	// see it. It may be nil.
	Meta map[string]any

	// Pictures belong to the text: a model that takes images gets them.
	Pictures []picture.Picture

	// Changes are the files that the call has changed. There are none of tools that do not
	// tell: see [Spec.TellsChanges].
	Changes []Change
}

// Change is a file that a call has changed. The hashes are SHA-256, in hex.
type Change struct {
	Path   string // slash-separated, relative to the workspace
	Before string // of the content; empty means there was no such file
	After  string // the same; empty means that there is no such file any more
}

// Hash returns the hash of a file's content, as a [Change] has it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Errorf returns a result that reports an error to the model.
func Errorf(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// Prepared is one call of a tool with its arguments decoded once: the gate decides
// about exactly what runs. Its methods are called one after the other.
type Prepared interface {
	// Values is [Tool.Values] for the call. A call that has waited for an answer
	// is asked again, for what it wants by then.
	Values() ([]permission.Value, error)

	// Run is [Tool.Run] for the call, as Values had it last.
	Run(ctx context.Context, call *Call) (Result, error)
}

// Beginner is a prepared call, of a tool that [Spec.Delegates], that waits long
// while it runs, as many do at once. Where nobody has to be asked about it, Begin
// is called before Run, and does what comes before the wait: Run then has a
// goroutine of its own whose stack stays small.
type Beginner interface {
	Prepared

	// Begin does not wait. What goes wrong, Run returns.
	Begin(ctx context.Context, call *Call)
}

// Preparer is a tool that reads the arguments of a call once. Its Values and Run
// do what those of the prepared call do.
type Preparer interface {
	Tool

	// Prepare reads arguments. An error refuses the call.
	Prepare(args json.RawMessage) (Prepared, error)
}

// Prepare returns the call of t with these arguments.
func Prepare(t Tool, args json.RawMessage) (Prepared, error) {
	if p, ok := t.(Preparer); ok {
		return p.Prepare(args)
	}
	return plain{t, args}, nil
}

// plain is a call of a tool that reads its arguments in both methods.
type plain struct {
	tool Tool
	args json.RawMessage
}

func (p plain) Values() ([]permission.Value, error)                 { return p.tool.Values(p.args) }
func (p plain) Run(ctx context.Context, call *Call) (Result, error) { return p.tool.Run(ctx, call) }

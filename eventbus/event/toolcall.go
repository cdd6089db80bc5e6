package event

import "time"

// ToolCallStart reports that the model has made a tool call. The gate may still
// refuse it; [ToolCallEnd] follows in any case.
type ToolCallStart struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Arguments  string `json:"arguments"` // JSON, as the model wrote it
	MessageID  string `json:"messageId"`
	Step       int    `json:"step"`            // counted from 1 within the session
	Calls      int    `json:"calls,omitempty"` // how many the message has; 0 means one
}

// ToolCallEnd is the outcome of a tool call, as the model sees it.
type ToolCallEnd struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Result     string `json:"result"`
	IsError    bool   `json:"isError"`
	Truncated  bool   `json:"truncated"`
	Refused    bool   `json:"refused,omitempty"` // by the permission rules or by a person: the tool has not run
	DurationMs int64  `json:"durationMs"`

	// Changes are the files that the call has changed, as its tool tells.
	Changes []FileChange `json:"changes,omitempty"`

	// Images are the pictures that belong to the result.
	Images []Image `json:"images,omitempty"`

	// Rule is one that would have allowed a refused call, as permissions.jsonc has it.
	// Empty means there is none, or somebody has refused it.
	Rule string `json:"rule,omitempty"`

	// Untold says that the call may have changed what its tool does not tell of, as
	// a shell command does.
	Untold bool `json:"untold,omitempty"`

	// Review is what a reviewer has said of the call, with its reason, before a person was asked. Empty
	// means that none was asked.
	Review string `json:"review,omitempty"`
}

// Image is a picture that a model is shown. Its bytes are an object in the object store
// AGENT_PAYLOADS, named <workspace>/<sessionId>/<first 32 digits of sha256>.
type Image struct {
	Name      string `json:"name,omitempty"` // for people, such as a file's
	MediaType string `json:"mediaType"`      // image/png or image/jpeg
	Width     int    `json:"width"`          // in pixels
	Height    int    `json:"height"`
	Bytes     int    `json:"bytes"`     // how many it has
	SHA256    string `json:"sha256"`    // of the bytes, in hex
	SessionID string `json:"sessionId"` // of the session that has stored them
}

// FileChange is a file that a tool has changed.
type FileChange struct {
	Path   string `json:"path"`             // slash-separated, relative to the session's workspace
	Before string `json:"before,omitempty"` // SHA-256 of the content in hex; empty means there was no such file
	After  string `json:"after,omitempty"`  // the same, as the tool has left it; empty means that the file is gone
}

// ToolProgress reports what the program of a call says while it works.
type ToolProgress struct {
	ToolCallID string  `json:"toolCallId"`
	Done       float64 `json:"done,omitempty"`
	Total      float64 `json:"total,omitempty"` // 0 means that it is not known
	Level      string  `json:"level,omitempty"` // of a line of its log; empty means that it is none
	Message    string  `json:"message,omitempty"`
}

// CommandStart reports that a command of the shell goes on in the session's background.
type CommandStart struct {
	CommandID  string `json:"commandId"` // unique in its session
	ToolCallID string `json:"toolCallId"`
	Command    string `json:"command"`
	TTY        bool   `json:"tty,omitempty"` // it has a terminal
}

// CommandProgress reports what a command in the background has come to.
type CommandProgress struct {
	CommandID string `json:"commandId"`
	Line      string `json:"line,omitempty"` // the last one that it has written
	Bytes     int64  `json:"bytes"`          // that it has written
	Waits     bool   `json:"waits,omitempty"`
}

// WorkerEnd is the [CommandEnd.StoppedBy] of a command that has ended with its process.
const WorkerEnd = "the end of its worker"

// CommandEnd reports that nothing runs any more of a command in the background.
type CommandEnd struct {
	CommandID  string `json:"commandId"`
	ExitStatus *int   `json:"exitStatus,omitempty"` // nil means it has none: see Signal
	Signal     string `json:"signal,omitempty"`     // "signal: killed", or why it is not known
	StoppedBy  string `json:"stoppedBy,omitempty"`  // shell_stop, a limit, an end; empty means it has ended by itself
	Bytes      int64  `json:"bytes"`                // that it has written
	DurationMs int64  `json:"durationMs"`
}

// Check is the outcome of one of the checks of a session: what has to hold for its
// answer to be taken.
type Check struct {
	Path       string `json:"path,omitempty"`    // that must exist; empty means Command is checked
	Command    string `json:"command,omitempty"` // that must end with status 0
	OK         bool   `json:"ok"`
	Output     string `json:"output,omitempty"` // why not: what the command wrote, or the rules say
	DurationMs int64  `json:"durationMs"`
}

// ToolApprovalRequired reports that a tool call waits for a person's answer.
type ToolApprovalRequired struct {
	ApprovalID     string   `json:"approvalId"`
	ToolCallID     string   `json:"toolCallId"`
	ToolName       string   `json:"toolName"`
	Arguments      string   `json:"arguments"` // JSON, as the model wrote it
	SessionID      string   `json:"sessionId"`
	Patterns       []string `json:"patterns"`       // what the call needs, in the form that rules match
	AlwaysPatterns []string `json:"alwaysPatterns"` // what the answer "always" would allow from now on

	// Question is what the call would do, for people.
	Question Question `json:"question"`

	// ExpiresAt is when a missing answer counts as a denial.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`

	// SecondPerson says that nobody may approve the call who has asked for the work.
	SecondPerson bool `json:"secondPerson,omitempty"`

	// Where is where somebody is connected who may answer, such as "worker top"; empty means
	// that is not known.
	Where string `json:"where,omitempty"`
}

// ApprovalOutcome is how an approval ended.
type ApprovalOutcome string

// The values of [ToolApprovalResolved] and [QuestionAnswered].
const (
	Approved  ApprovalOutcome = "approved"
	Denied    ApprovalOutcome = "denied"
	Answered  ApprovalOutcome = "answered"  // a question was
	Declined  ApprovalOutcome = "declined"  // a person does not answer a question
	Cancelled ApprovalOutcome = "cancelled" // the session ended first
	Expired   ApprovalOutcome = "expired"
)

// ToolApprovalResolved ends a [ToolApprovalRequired].
type ToolApprovalResolved struct {
	ApprovalID string          `json:"approvalId"`
	Outcome    ApprovalOutcome `json:"outcome"`
}

package integrity

import "github.com/agentworker/worker/eventbus"

// Check is the result of [Checker.Check]. Its JSON is camelCase.
type Check struct {
	Streams []StreamUse `json:"streams"`
	Logs    int         `json:"logs"`    // sessions of the workspace that have a log
	Records int         `json:"records"` // of the workspace, in the bucket
	Missing []string    `json:"missing"` // ids of logs without a record
	Behind  []string    `json:"behind"`  // ids of records that lack the end that is in the log

	// Unread is how many of the oldest messages of the event stream were not searched for
	// events without their content.
	Unread uint64 `json:"unread"`
	from   uint64 // the first one that is searched

	Findings []Finding `json:"findings"` // all that is wrong, with what to do
}

// StreamUse is what one stream of the store holds, for all workspaces.
type StreamUse struct {
	Name     string `json:"name"` // KV_… is the stream of a bucket, OBJ_… that of an object store
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// Finding is one thing that is wrong with the store.
type Finding struct {
	Kind     string         `json:"kind"` // loss, missing, behind, incomplete or payload
	Text     string         `json:"text"`
	Advice   string         `json:"advice"`
	Sessions []string       `json:"sessions,omitempty"` // ids of the sessions concerned
	Loss     *eventbus.Loss `json:"loss,omitempty"`
	Seq      uint64         `json:"seq,omitempty"` // of the event concerned
}

// The kinds of a [Finding].
const (
	LossFinding       = "loss"       // messages that were lost by damage
	MissingFinding    = "missing"    // sessions that are not in the index
	BehindFinding     = "behind"     // sessions that have ended, but not in the index
	IncompleteFinding = "incomplete" // sessions with missing events
	PayloadFinding    = "payload"    // an event whose content is missing
)

package event

import (
	"iter"
	"maps"
)

// Status says what a session is doing, or how it has ended. A [StatusChange] has a status that
// is not an end, a [SessionEnd] has one that is. [Status.Recorded] returns the status of a
// record.
type Status string

// The statuses of sessions.
const (
	StatusQueued          Status = "queued"           // waits for a free slot
	StatusRunning         Status = "running"          // is working; in records only
	StatusIdle            Status = "idle"             // waits for its next prompt, or for background work
	StatusStreaming       Status = "streaming"        // waits for its model's answer
	StatusExecutingTool   Status = "executing_tool"   // runs tool calls
	StatusWaitingApproval Status = "waiting_approval" // waits for a person's answer
	StatusPaused          Status = "paused"           // waits until its model's provider takes calls again
	StatusError           Status = "error"            // fails, and ends at once
	StatusAborted         Status = "aborted"          // is stopped, and ends at once
	StatusCompleted       Status = "completed"        // has answered
	StatusFailed          Status = "failed"           // could not answer
	StatusCancelled       Status = "cancelled"        // was stopped by somebody
	StatusTimedOut        Status = "timed_out"        // used up its time
	StatusInterrupted     Status = "interrupted"      // lost its process
)

// Tone is how good a status is for the person who started the session.
type Tone string

// The tones of statuses.
const (
	ToneNeutral   Tone = ""
	ToneGood      Tone = "good"
	ToneBad       Tone = "bad"
	ToneAttention Tone = "attention" // a person is asked, or has intervened
)

// statusRow is what the table has of a status.
type statusRow struct {
	recorded Status // what the session's record says meanwhile; empty means what it said before
	ended    bool   // the session does not leave it
	waiting  bool   // for a person
	calling  bool   // tool calls may be running
	untimed  bool   // does not count as time at work
	rests    bool   // is between two steps
	words    string // for people; empty where its calls or its subagents say what goes on
	tone     Tone
}

// statuses is the table. It has nothing of the statuses of later versions.
var statuses = map[Status]statusRow{
	StatusQueued:          {recorded: StatusQueued, rests: true, words: "queued"},
	StatusRunning:         {recorded: StatusRunning},
	StatusIdle:            {recorded: StatusRunning, rests: true},
	StatusStreaming:       {recorded: StatusRunning, words: "thinking"},
	StatusExecutingTool:   {recorded: StatusRunning, calling: true},
	StatusWaitingApproval: {recorded: StatusWaitingApproval, waiting: true, calling: true, untimed: true, words: "waits for approval", tone: ToneAttention},
	StatusPaused:          {recorded: StatusRunning, untimed: true, rests: true, words: "paused"},
	StatusError:           {},
	StatusAborted:         {},
	StatusCompleted:       {recorded: StatusCompleted, ended: true, tone: ToneGood},
	StatusFailed:          {recorded: StatusFailed, ended: true, tone: ToneBad},
	StatusCancelled:       {recorded: StatusCancelled, ended: true, tone: ToneAttention},
	StatusTimedOut:        {recorded: StatusTimedOut, ended: true, tone: ToneBad},
	StatusInterrupted:     {recorded: StatusInterrupted, ended: true, tone: ToneBad},
}

// Statuses returns all statuses, in no order.
func Statuses() iter.Seq[Status] { return maps.Keys(statuses) }

// Ended reports whether s is an end: nothing changes it any more.
func (s Status) Ended() bool { return statuses[s].ended }

// Recorded returns the status that a session's record has while the session's own
// status is s. It is empty where the record keeps what it has: an end follows.
func (s Status) Recorded() Status { return statuses[s].recorded }

// Waiting reports whether the session waits for a person.
func (s Status) Waiting() bool { return statuses[s].waiting }

// Calling reports whether tool calls of the session may be running.
func (s Status) Calling() bool { return statuses[s].calling }

// Untimed reports whether the time in s is none at work: the session can't go on by itself.
func (s Status) Untimed() bool { return statuses[s].untimed }

// Rests reports whether the session is between two steps.
func (s Status) Rests() bool { return statuses[s].rests }

// Words says for people what the session does. It is empty where its tool calls or its
// subagents say that, and for ends.
func (s Status) Words() string { return statuses[s].words }

// Tone says how good s is, for colours.
func (s Status) Tone() Tone { return statuses[s].tone }

// StopReason says why the work of a session ended.
type StopReason string

// The stop reasons. A session that failed for another reason has none.
const (
	StopAnswered StopReason = "answered" // its model answered
	StopSteps    StopReason = "steps"    // its model had to conclude, as its steps were used up
	StopTime     StopReason = "time"     // its time was over, or nothing happened for too long
	StopBudget   StopReason = "budget"   // the budget of its tree was used up
	StopLength   StopReason = "length"   // its answer was cut at the model's output limit
	StopStopped  StopReason = "stopped"  // somebody stopped it, or its process died
)

// endWords say why a session ended, where its status does not.
var endWords = map[StopReason]string{StopSteps: "at its step limit", StopLength: "cut at the output limit", StopBudget: "over its budget"}

// Words says why a session ended, where its status does not; empty means it does.
func (r StopReason) Words() string { return endWords[r] }

// Words says for people how the session ended.
func (e SessionEnd) Words() string {
	if why := e.StopReason.Words(); why != "" {
		return string(e.Status) + " " + why
	}
	return string(e.Status)
}

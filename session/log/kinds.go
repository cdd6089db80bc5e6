package log

import (
	"cmp"
	"encoding/json"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/record"
)

// OpenedKind is the kind of the first entry of a log.
const OpenedKind = "opened"

// The kinds of the entries that a session's log has beside its events: what [Fold] needs and
// no event carries. A kind is a row: its name, and what [Fold] makes of its data.
var (
	openedKind   = newKind(OpenedKind, (*fold).open)         // the first entry
	messageKind  = newKind("message", (*fold).addMessage)    // a message of the conversation
	knownKind    = newKind("known", (*fold).deliverByResult) // messages that a call's result delivers
	compactKind  = newKind("compacted", (*fold).compact)     // what remains of the conversation for the model
	titledKind   = newKind("titled", (*fold).entitle)        // a model's title of the session
	agentKind    = newKind("agent", (*fold).become)          // another agent, or another model
	endedKind    = newKind("ended", (*fold).sumUp)           // before session_end
	budgetKind   = newKind("budget", (*fold).setBudget)      // what the session may use: JSON that its owner defines
	reserveKind  = newKind("reserve", (*fold).reserve)       // what was set aside for a model call
	askedKind    = newKind("asked", (*fold).addPerson)       // a further person who has asked for what it does
	fenceKind    = newKind("fence", (*fold).fence)           // of the event store, [eventbus.FenceKind]
	unmaskedKind = newKind("whole", (*fold).expect)          // an event that follows masked, whole
	hiddenKind   = newKind("hidden", (*fold).hide)           // what the model reads instead of credentials
)

// kind is a kind of entries that are no events. All fields of D, their data, have a JSON form.
type kind[D any] string

// entryFolds has what [Fold] makes of an entry, by its kind.
var entryFolds = make(map[string]func(f *fold, e Entry) error)

func newKind[D any](name string, apply func(f *fold, data D, e Entry) error) kind[D] {
	entryFolds[name] = func(f *fold, e Entry) error {
		var data D
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return err
		}
		return apply(f, data, e)
	}
	return kind[D](name)
}

// entry returns an entry of the kind.
func (k kind[D]) entry(data D) Entry {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return Entry{Kind: string(k), Data: text}
}

// open applies the first entry.
func (f *fold) open(data openedData, _ Entry) error {
	if err := record.CheckSchema("the log", data.Schema); err != nil {
		return err
	}
	r := &f.Record
	r.BootID, r.CreatedAt, r.Path = data.BootID, data.CreatedAt, data.Path
	r.Worktree, r.Fork, r.Nested = data.Worktree, data.Fork, data.Nested
	r.Background, r.Detached, r.Cleanup, r.Resumes, f.Terms = data.Background, data.Detached, data.Cleanup, data.Resumes, data.Terms
	f.CallID, r.FromStep = data.CallID, data.FromStep
	r.Label, r.Metadata, r.Resident, r.AskedBy = data.Label, data.Metadata, data.Resident, data.AskedBy
	if n := len(r.Path); n > 0 {
		r.ID, r.Agent, r.Depth = r.Path[n-1].SessionID, r.Path[n-1].AgentType, n-1
		if n > 1 {
			r.ParentID = r.Path[n-2].SessionID
		}
	}
	f.Opened = true
	return nil
}

func (f *fold) deliverByResult(data knownData, _ Entry) error {
	if f.deliveredBy == nil {
		f.deliveredBy = make(map[string]string)
	}
	for _, id := range data.IDs {
		f.deliveredBy[id] = data.CallID
	}
	return nil
}

// sumUp applies what a session's last events lack about its end.
func (f *fold) sumUp(data endedData, _ Entry) error {
	r := &f.Record
	r.StartedAt, r.EndedAt, r.Error, r.EndedBy = data.StartedAt, data.EndedAt, data.Error, data.EndedBy
	r.Worktree = cmp.Or(data.Worktree, r.Worktree)
	r.Work.Idle, r.Work.Evidence, r.Total = data.Idle, data.Evidence, data.Total
	f.over = true
	return nil
}

func (f *fold) setBudget(data json.RawMessage, _ Entry) error {
	f.Budget = data
	return nil
}

func (f *fold) addPerson(data askedData, _ Entry) error {
	f.Record.AskedBy = record.AddPerson(f.Record.AskedBy, data.By)
	return nil
}

func (f *fold) hide(data []hidden.Placeholder, _ Entry) error {
	f.Hidden = append(f.Hidden, data...)
	return nil
}

func (f *fold) fence(data fenceData, e Entry) error {
	f.Fence, f.Fenced = e.Seq, data.By == "" || data.By != data.Owner
	return nil
}

func (f *fold) addMessage(data messageData, e Entry) error {
	if data.Role == model.Assistant {
		f.drafted(data.ID).say(&data)
		return nil
	}
	f.cutOff(e.Time) // a cancelled turn, or a message that interrupted the model
	f.Answer = nil
	if g := f.groups[data.Answers]; g != nil && g.answer != nil {
		g.answer.Text = data.Text
		return nil
	}
	if f.delivered[data.ID] { // by its own process, and by one that took that for dead
		return nil
	}
	f.deliver(data.ID)
	f.Prompted = true
	f.append(data.ID, e.Time, model.Message{Role: data.Role, Text: data.Text, Images: data.Images})
	return nil
}

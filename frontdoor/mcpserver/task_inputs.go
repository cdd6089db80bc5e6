package mcpserver

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/session/live"
)

// maxAsked is of how many questions of tasks a connection remembers that they were asked.
const maxAsked = 1000

// taskQuestion is a question as the client of a task has it.
type taskQuestion struct {
	shown time.Time // when it was there first
	n     int       // how often it was put again
	over  bool      // this client has answered it, or does not
}

// key is the name of a question for the client of a task. One that is put again is
// another one: a name is never used twice.
func (a taskQuestion) key(id string) string {
	if a.n == 0 {
		return id
	}
	return id + "~" + strconv.Itoa(a.n)
}

// askFor adds to a running task the questions for its client, and its latest activity.
func (c *taskExtension) askFor(ctx context.Context, task *exttask.Task, by peer) error {
	if child := c.children.get(task.ID); child != nil {
		task.StatusMessage, _ = child.progress.last()
	}
	questions, err := c.questionsOf(ctx, task.ID)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if by.caps == nil || !q.wants(by.caps) || c.askedTask(q.id).over {
			if q.unseen != "" {
				task.StatusMessage = "waits for an answer elsewhere: " + q.unseen
			}
			continue
		}
		request, err := q.request(ctx, by)
		if err != nil {
			continue // it was answered meanwhile
		}
		if task.InputRequests == nil {
			task.InputRequests = make(mcp.InputRequestMap)
		}
		task.InputRequests[c.askedTask(q.id).key(q.id)] = request
		if q.since.After(task.LastUpdatedAt) {
			task.LastUpdatedAt = q.since
		}
	}
	if task.InputRequests != nil {
		task.Status, task.StatusMessage = exttask.InputRequired, "waits for an answer"
	}
	return nil
}

// questionsOf returns what a task waits for: the approvals of its session and of all
// below it, and what its model asks the host. The oldest come first.
func (c *taskExtension) questionsOf(ctx context.Context, id string) ([]*question, error) {
	approvals, err := c.opts.Sessions.Approvals.Pending(ctx)
	if err != nil {
		return nil, err
	}
	var questions []*question
	for _, a := range approvals {
		if !slices.ContainsFunc(a.Path, func(hop event.Hop) bool { return hop.SessionID == id }) {
			continue
		}
		q := c.asker.approval(&live.Question{ToolApprovalRequired: a.Required(), Ask: a.Ask})
		q.since = a.CreatedAt
		questions = append(questions, q)
	}
	if child := c.children.get(id); child != nil {
		for _, q := range child.progress.since(0).questions {
			if q.only { // the approvals are those of the store
				questions = append(questions, q)
			}
		}
	}
	return questions, nil
}

// askedTask returns a copy of what is known of a question of a task. It is noted as one
// that its client has.
func (c *taskExtension) askedTask(id string) taskQuestion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.asked[id]; a != nil {
		return *a
	}
	if len(c.asked) >= maxAsked {
		clear(c.asked) // at worst a question is put once more
	}
	c.asked[id] = &taskQuestion{shown: time.Now()}
	return *c.asked[id]
}

// putAgain puts a question to the client of a task for the nth time after the first.
func (c *taskExtension) putAgain(id string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[id] = &taskQuestion{shown: time.Now(), n: n}
	close(c.askAgain)
	c.askAgain = make(chan struct{})
}

// receiveResponse returns the answer to a question, if there is one. It counts once. One to a
// question that this process has not put may be of a client that has known it before a
// restart.
func (c *taskExtension) receiveResponse(q *question, p *exttask.UpdateParams) (response mcp.InputResponse, was taskQuestion, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.asked[q.id]
	if a == nil {
		a = &taskQuestion{shown: q.since}
		c.asked[q.id] = a
	}
	key := a.key(q.id)
	if _, given := p.InputResponses[key]; a.over || !given {
		return nil, taskQuestion{}, nil
	}
	if response, err = p.Response(key); err != nil {
		return nil, taskQuestion{}, err
	}
	a.over = true
	return response, *a, nil
}

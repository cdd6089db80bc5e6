package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// followScript is what the models of TestFollowers say: a primary agent has a subagent, whose
// tool call is asked about.
const followScript = `{"match": {"user": "hand it on"}, "toolCalls": [{"name": "task", "arguments": {"description": "d", "prompt": "do it", "agentType": "general"}}]}
{"match": {"user": "hand it on"}, "text": "All is done."}
{"match": {"user": "do it"}, "text": "I ask. ", "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch one.txt"}}]}
{"match": {"user": "do it"}, "text": "It is **done**."}
`

// follower follows a session to its end, through one door. It calls asked once it has seen
// that the subagent waits for an answer.
type follower func(asked func(approval string)) error

// startFollowers starts followers. Each of them sends the question that it sees first, and how it
// ends.
func startFollowers(followers map[string]follower) (questions chan string, ends chan error) {
	questions = make(chan string, len(followers))
	ends = make(chan error, len(followers))
	for name, follow := range followers {
		go func() {
			var once sync.Once
			asked := func(approval string) { once.Do(func() { questions <- approval }) }
			err := follow(asked)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			asked("none")
			ends <- err
		}()
	}
	return questions, ends
}

// checkFollowed checks what the editor was shown: all of it comes before the answer to the prompt.
func (e *editor) checkFollowed(t *testing.T) {
	t.Helper()
	text, status := "", acp.ToolCallStatus("")
	for len(e.updates) > 0 {
		switch u := <-e.updates; {
		case u.AgentMessageChunk != nil:
			text += u.AgentMessageChunk.Content.Text.Text
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			status = *u.ToolCallUpdate.Status
		}
	}
	if text != "All is done." || status != acp.ToolCallStatusCompleted {
		t.Errorf("the editor: %q, %s", text, status)
	}
}

// TestFollowers: an editor's conversation is followed at once by HTTP, NATS, the page and two
// MCP hosts, and by the editor itself. All see the same question; then all see the same answer,
// and the same end.
func TestFollowers(t *testing.T) {
	d := openDoors(t, followScript)
	waits, release := make(chan struct{}), make(chan struct{})
	e := d.edit(t, func() string {
		close(waits)
		<-release
		return "allow_once"
	})
	root := e.begin(t, d.dir)
	turn := make(chan error, 1)
	go func() {
		_, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: root, Prompt: []acp.ContentBlock{acp.TextBlock("hand it on")}})
		turn <- err
	}()
	select {
	case <-waits:
	case err := <-turn:
		t.Fatalf("the turn has ended: %v", err)
	}
	child := d.childOf(t, string(root))

	var overHTTP, overNATS []string
	hosts := make([][]taskNotice, 2)
	var rows pageRows
	followers := map[string]follower{
		"HTTP":          d.followHTTP(string(root), &overHTTP),
		"NATS":          d.followNATS(t, string(root), &overNATS),
		"page":          d.followPage(t, string(root), child, &rows),
		"MCP over HTTP": d.followMCP(t, child, &hosts[0]),
		"MCP on stdio":  d.followStdio(t, child, &hosts[1]),
	}
	questions, ends := startFollowers(followers)
	var asked []string
	for range followers {
		asked = append(asked, <-questions)
	}
	close(release)
	if slices.Sort(asked); asked[0] != asked[len(asked)-1] || !strings.HasPrefix(asked[0], "apr_") {
		t.Errorf("the questions: %v", asked)
	}
	if err := <-turn; err != nil {
		t.Error(err)
	}
	if _, err := e.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: root}); err != nil {
		t.Error(err)
	}
	for range followers {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}

	if !slices.Equal(overHTTP, overNATS) || len(overHTTP) < 10 {
		t.Errorf("over HTTP:\n%s\nover NATS:\n%s", strings.Join(overHTTP, "\n"), strings.Join(overNATS, "\n"))
	}
	for i, seen := range hosts {
		first, last := seen[0], seen[len(seen)-1]
		if first.Status != "input_required" || last.Status != "completed" || len(last.Result.Content) != 1 || !strings.Contains(last.Result.Content[0].Text, "It is **done**.") {
			t.Errorf("MCP host %d: %+v", i, seen)
		}
	}
	if rows.child != "completed" || rows.root != "completed" || !rows.waited {
		t.Errorf("the page: %+v", rows)
	}
	e.checkFollowed(t)
}

// questionIn returns the id of the approval that an event of a root's stream is about; empty
// means it asks nothing.
func questionIn(data []byte) (id string) {
	var envelope struct {
		Event struct{ Type, ApprovalID string }
	}
	if json.Unmarshal(data, &envelope) == nil && envelope.Event.Type == "tool_approval_required" {
		return envelope.Event.ApprovalID
	}
	return ""
}

func (d *doors) followHTTP(root string, events *[]string) follower {
	return func(asked func(string)) error {
		resp, err := d.client.Get(d.url + "/v1/sessions/" + root + "/events")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		for data := range eventData(resp.Body) {
			*events = append(*events, string(data))
			if id := questionIn(data); id != "" {
				asked(id)
			}
		}
		return nil
	}
}

func (d *doors) followNATS(t *testing.T, root string, events *[]string) follower {
	return func(asked func(string)) error {
		js, err := jetstream.New(d.conn)
		if err != nil {
			return err
		}
		subject := "agents.v1.ws.events." + root
		consumer, err := js.OrderedConsumer(t.Context(), eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject + ".>"}})
		if err != nil {
			return err
		}
		messages, err := consumer.Messages()
		if err != nil {
			return err
		}
		defer messages.Stop()
		for {
			msg, err := messages.Next(jetstream.NextMaxWait(time.Minute))
			if err != nil {
				return err
			}
			*events = append(*events, string(msg.Data()))
			if id := questionIn(msg.Data()); id != "" {
				asked(id)
			}
			if bytes.HasPrefix(msg.Data(), []byte(`{"type":"session_end"`)) {
				return nil
			}
		}
	}
}

// pageRows is what the page shows of two sessions.
type pageRows struct {
	root, child string // how they are
	waited      bool   // the subagent was seen to wait
}

func (d *doors) followPage(t *testing.T, root, child string, seen *pageRows) follower {
	client := d.page(t)
	return func(asked func(string)) error {
		resp, err := client.Get(d.url + "/page/events")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		for data := range eventData(resp.Body) {
			var update struct {
				Rows []struct {
					ID, Status string
					EndedAt    int64
				}
				Approvals []struct{ ID, SessionID string }
			}
			if err := json.Unmarshal(data, &update); err != nil {
				return err
			}
			ended := false
			for _, row := range update.Rows {
				switch row.ID {
				case root:
					seen.root, ended = row.Status, row.EndedAt != 0
				case child:
					seen.child = row.Status
					seen.waited = seen.waited || row.Status == "waiting_approval"
				}
			}
			for _, card := range update.Approvals {
				if card.SessionID == child {
					asked(card.ID)
				}
			}
			if ended {
				return nil
			}
		}
		return errors.New("the page's stream has ended")
	}
}

// taskNotice is a notification about a task to a client of MCP's Tasks extension.
type taskNotice struct {
	Status        string
	InputRequests map[string]any
	Result        struct{ Content []struct{ Text string } }
}

// listenTo asks for the notifications about a task.
func listenTo(task string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":[%q]},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, task)
}

// notice takes a message of a subscription, and reports whether it was the last one.
func notice(message []byte, seen *[]taskNotice, asked func(string)) (last bool, err error) {
	var msg struct {
		Method string
		Params taskNotice
		Error  json.RawMessage
	}
	if err := json.Unmarshal(message, &msg); err != nil || msg.Error != nil {
		return true, fmt.Errorf("%s: %w", message, err)
	}
	if msg.Method != "notifications/tasks" {
		return false, nil
	}
	if len(*seen) == 0 {
		for id := range msg.Params.InputRequests {
			asked(id)
		}
	}
	*seen = append(*seen, msg.Params)
	return msg.Params.Status == "completed", nil
}

func (d *doors) followMCP(t *testing.T, task string, seen *[]taskNotice) follower {
	return func(asked func(string)) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/mcp", bytes.NewReader(listenTo(task)))
		if err != nil {
			return err
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
		} {
			r.Header.Set(name, value)
		}
		resp, err := d.client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		for data := range eventData(resp.Body) {
			if last, err := notice(data, seen, asked); last || err != nil {
				return err
			}
		}
		return fmt.Errorf("the stream has ended: %s", resp.Status)
	}
}

func (d *doors) followStdio(t *testing.T, task string, seen *[]taskNotice) follower {
	cmd := d.process(t, "mcp")
	var to io.WriteCloser
	from, err := cmd.StdoutPipe()
	if err == nil {
		to, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(asked func(string)) error {
		_, err := to.Write(append(listenTo(task), '\n'))
		lines := bufio.NewScanner(from)
		for last := false; err == nil && !last; {
			if !lines.Scan() {
				err = errors.New("worker mcp has ended")
				break
			}
			last, err = notice(lines.Bytes(), seen, asked)
		}
		err = errors.Join(err, to.Close())
		for lines.Scan() { // it is read to the end
		}
		return errors.Join(err, cmd.Wait())
	}
}

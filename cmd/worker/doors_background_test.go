package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/event"
)

// moveThrough starts a subagent by a call that waits for it, moves it to the background
// while it waits, and returns its id.
func moveThrough(t *testing.T, conn *nats.Conn, d frontDoor) string {
	t.Helper()
	starts, err := conn.SubscribeSync("agents.v1.ws.events.*.*.turn")
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		msg, err := starts.NextMsg(time.Minute)
		var started event.SessionStart
		if err == nil {
			err = json.Unmarshal(msg.Data, &started)
		}
		if err == nil {
			err = d.background(t, started.SessionID)
		}
		over <- errors.Join(err, starts.Unsubscribe())
	}()
	id := d.wait(t, "long")
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	return id
}

// waiting is a call of task that waits.
func waiting(prompt string) map[string]any {
	return map[string]any{"description": "d", "prompt": prompt, "agentType": "explore"}
}

func (d *httpDoor) wait(t *testing.T, prompt string) string {
	return accepted(t, d.post(t, "/v1/tasks", waiting(prompt), http.StatusAccepted))
}

func (d *httpDoor) background(t *testing.T, id string) error {
	resp, err := d.client.Post(d.url+"/v1/tasks/background", "application/json", strings.NewReader(toJSON(t, map[string]any{"sessionId": id})))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var moved struct {
		SessionID  string
		Background bool
	}
	err = json.NewDecoder(resp.Body).Decode(&moved)
	if err != nil || resp.StatusCode != http.StatusOK || moved.SessionID != id || !moved.Background {
		return fmt.Errorf("status %d, %+v, %w", resp.StatusCode, moved, err)
	}
	return nil
}

func (d *natsDoor) wait(t *testing.T, prompt string) string {
	return accepted(t, d.request(t, "task", waiting(prompt)))
}

func (d *natsDoor) background(t *testing.T, id string) error {
	msg, err := d.conn.Request("agents.v1.ws.service.task_background", []byte(toJSON(t, map[string]any{"sessionId": id})), time.Minute)
	if err == nil && !strings.Contains(string(msg.Data), `"background":true`) {
		err = fmt.Errorf("background: %s", msg.Data)
	}
	return err
}

func (d *mcpDoor) wait(t *testing.T, prompt string) string {
	res, text := d.call(t, "task", waiting(prompt))
	id, _ := res.Meta["sessionId"].(string)
	if res.IsError || res.Meta["status"] != "accepted" || !strings.Contains(text, "The user has moved it to the background") {
		t.Fatalf("%v %s", res.Meta, text)
	}
	return id
}

func (d *mcpDoor) background(t *testing.T, id string) error {
	res, err := d.host.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_background", Arguments: map[string]any{"sessionId": id}})
	if err == nil && res.IsError {
		err = fmt.Errorf("background: %+v", res.Content[0])
	}
	return err
}

func (d *commandDoor) background(t *testing.T, id string) error {
	code, _, output := command(t, nil, append([]string{"sessions", "background", id}, d.flags...)...)
	if code != int(cli.Done) {
		return fmt.Errorf("background: exit status %d: %s", code, output)
	}
	return nil
}

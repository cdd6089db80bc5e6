package session_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

func testPicture(t *testing.T) picture.Picture {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 60, 30))); err != nil {
		t.Fatal(err)
	}
	p, err := picture.Read("a.png", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestImages: a picture of a tool is stored once with its session, events refer to it, and a
// model that takes images gets its bytes. It goes with the session.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		model string
		sees  bool
	}{{"anthropic/claude-unknown", true}, {"turns", false}} {
		t.Run(c.model, func(t *testing.T) {
			p := testPicture(t)
			shows := &fakeTool{"show", func(context.Context, *tool.Call) (tool.Result, error) {
				return tool.Result{Text: "look", Pictures: []picture.Picture{p}}, nil
			}}
			var seen model.ToolResult
			e := newEnv(t, named{c.model, turns{
				calls(call("1", "show", "x")),
				func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
					seen = req.Messages[2].ToolResults[0]
					say("done")(ctx, req, yield)
				},
			}}, nil)
			s := e.open(session.Spec{Tools: []tool.Tool{shows}})
			out := s.Prompt(t.Context(), "go")
			e.end(s, out)
			if out.Status != record.Completed {
				t.Fatalf("outcome %+v", out)
			}
			if shown := len(seen.Images) == 1 && bytes.Equal(seen.Images[0].Data, p.Data); shown != c.sees {
				t.Errorf("the model got %+v", seen)
			}
			if told := strings.Contains(seen.Text, "[Image a.png, image/png, 60×30, 0.1 KB: not shown: this model is not known to take images]"); told == c.sees {
				t.Errorf("the model was told %q", seen.Text)
			}

			var ended event.ToolCallEnd
			for _, ev := range e.events(s) {
				if end, ok := ev.(event.ToolCallEnd); ok {
					ended = end
				}
			}
			if len(ended.Images) != 1 || ended.Images[0].SessionID != s.ID() || ended.Images[0].Width != 60 || ended.Images[0].Bytes != len(p.Data) {
				t.Fatalf("the event has %+v", ended.Images)
			}
			ref := eventbus.PayloadOf(e.bus, s.ID(), ended.Images[0].SHA256)
			if data, err := e.bus.Payload(t.Context(), ref); err != nil || !bytes.Equal(data, p.Data) {
				t.Errorf("stored: %d bytes, %v", len(data), err)
			}
			messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
			if err != nil || len(messages) != 4 || len(messages[2].ToolResults[0].Images) != 1 || messages[2].ToolResults[0].Text != "look" {
				t.Errorf("the transcript has %+v, %v", messages, err)
			}
			if _, err := e.Store().Retention.Delete(t.Context(), s.ID()); err != nil {
				t.Fatal(err)
			}
			if _, err := e.bus.Payload(t.Context(), ref); err == nil || !strings.Contains(err.Error(), eventbus.ErrNoPayload.Error()) {
				t.Errorf("after the session was deleted: %v", err)
			}
		})
	}
}

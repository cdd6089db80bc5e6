package workerpeer

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
)

var (
	envelope = []byte(`{"type":"subagent_event"`)
	delta    = []byte(`"type":"content_delta"`)
)

// follow hands the events of root's stream to k until the stream ends. It decodes
// what holds text, as a client does that shows it.
func (w *Worker) follow(ctx context.Context, root *session.Session, k *scen.Sink) error {
	for d, err := range w.Bus.Follow(ctx, root.Path(), &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			return err
		}
		switch {
		case !bytes.HasPrefix(d.Raw, envelope):
			k.ParentEvent()
			if d.Ends() {
				return nil
			}
		case !bytes.Contains(d.Raw, delta):
			k.ChildEvent()
		default:
			var ev struct {
				SessionID string
				Event     struct{ Delta string }
			}
			if err := json.Unmarshal(d.Raw, &ev); err != nil {
				return err
			}
			k.Delta(ev.SessionID, ev.Event.Delta)
		}
	}
	return nil
}

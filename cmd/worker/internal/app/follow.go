package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Follow hands each delivery to show until the session at the end of path has
// ended, or the stored events have where opts are not live.
func Follow(ctx context.Context, bus *eventbus.Bus, path event.Path, opts *eventbus.FollowOptions, show func(eventbus.Delivery) error) error {
	for d, err := range bus.Follow(ctx, path, opts) {
		if err != nil {
			return err
		}
		if err := show(d); err != nil {
			return err
		}
		if bytes.HasPrefix(d.Raw, sessionEnd) {
			return nil
		}
	}
	return nil
}

var sessionEnd = []byte(`{"type":"session_end"`)

// PrintEvent writes an event as one line of JSON, with its sequence number and
// time as the last two fields.
func PrintEvent(w io.Writer, d eventbus.Delivery) error {
	at, err := json.Marshal(d.Time.UTC())
	if err != nil {
		return err
	}
	var line bytes.Buffer
	line.Write(bytes.TrimSuffix(d.Raw, []byte("}")))
	line.WriteString(`,"seq":` + strconv.FormatUint(d.Seq, 10) + `,"time":`)
	line.Write(at)
	line.WriteString("}\n")
	_, err = w.Write(line.Bytes())
	return err
}

package embedded

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// Messages returns what a stream of the server has. The server answers from what it has
// in memory.
func (l *leader) Messages(stream string) (*storefiles.Messages, error) {
	conn, err := nats.Connect("", nats.InProcessServer(l.srv), nats.Token(l.token), nats.NoReconnect())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answer, err := conn.Request("$JS.API.STREAM.INFO."+stream, []byte(`{"deleted_details":true}`), contentsTimeout)
	if err != nil {
		return nil, err
	}
	var info server.JSApiStreamInfoResponse
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return nil, fmt.Errorf("reading what the stream %s has: %w", stream, err)
	}
	switch {
	case info.Error != nil:
		return nil, info.Error
	case info.StreamInfo == nil:
		return nil, errors.New("the server does not say what the stream " + stream + " has")
	}
	state := &info.State
	has := &storefiles.Messages{Range: storefiles.Range{First: state.FirstSeq, Last: state.LastSeq}, Count: state.Msgs, Deleted: state.Deleted}
	if lost := state.Lost; lost != nil && l.srvLog.missed(stream) {
		has.Lost = lost.Msgs
	}
	return has, nil
}

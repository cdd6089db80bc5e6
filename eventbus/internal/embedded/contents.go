package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// Streams returns the streams that the server has. A server that does not say so has
// failed.
func (l *leader) Streams() (map[string]storefiles.Range, error) {
	defer time.AfterFunc(stuckTimeout, func() { l.srvLog.fail("the server has not answered for " + stuckTimeout.String()) }).Stop()
	state, err := l.srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return nil, err
	}
	streams := make(map[string]storefiles.Range)
	for _, account := range state.AccountDetails {
		for _, s := range account.Streams {
			streams[s.Name] = storefiles.Range{First: s.State.FirstSeq, Last: s.State.LastSeq}
		}
	}
	return streams, nil
}

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

package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// TestTransient: an error that reports a lost connection or server may be followed
// by another attempt; a refusal by the server may not.
func TestTransient(t *testing.T) {
	reset := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{reset, true},
		{fmt.Errorf("publishing: %w", reset), true},
		{io.ErrClosedPipe, true},
		{nats.ErrNoResponders, true},
		{jetstream.ErrNoStreamResponse, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{nats.ErrMaxPayload, false},
		{nats.ErrAuthorization, false},
		{&jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}, false},
		{&jetstream.APIError{ErrorCode: 10158}, true}, // the same message id is in process
		{&jetstream.APIError{ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}, true},
		{&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement"}, true},     // a cluster that forms
		{&nats.APIError{ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}, true}, // of a watch
		{&nats.APIError{ErrorCode: nats.JSErrCodeStreamNotFound}, false},
		{&jetstream.APIError{ErrorCode: 10077, Description: server.ErrStoreClosed.Error()}, true}, // the server ends
		{&jetstream.APIError{ErrorCode: 10077, Description: server.ErrMsgTooLarge.Error()}, false},
		{errors.New("else"), false},
	} {
		if got := natsstore.Transient(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

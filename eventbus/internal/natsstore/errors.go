package natsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrLost is returned by every operation after the server has closed the
// connection for good.
var ErrLost = errors.New("the connection to the event store is closed for good")

// ErrClosed is returned by every operation after [Store.Close].
var ErrClosed = errors.New("the connection to the event store was closed")

// ErrAway is returned, with the cause, by an operation whose wait for the store has timed out. It
// may have been carried out.
var ErrAway = errors.New("the event store does not answer")

// awayError is an error that is [ErrAway] too.
type awayError struct{ error }

// Unwrap returns the cause.
func (e awayError) Unwrap() error { return e.error }

// Is implements what [errors.Is] asks for.
func (awayError) Is(target error) bool { return target == ErrAway }

// IsConflict reports whether a write was refused because the stored value has
// changed in the meantime.
func IsConflict(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Expected reports whether a write was refused because another one is on its way that
// expects something of the same subject, or changes it. It may be repeated.
func Expected(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// codeOnItsWay is JSStreamDuplicateMessageConflict: an earlier attempt is still being stored.
const codeOnItsWay = jetstream.ErrorCode(10158)

// OnItsWay reports whether a message was refused because one with its id is being stored.
func OnItsWay(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == codeOnItsWay
}

// Transient reports whether an operation that failed with err may succeed when it
// is repeated: the server, or the leader of a stream, is away for a while. It is
// then unknown whether the first attempt was carried out.
func Transient(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return slices.Contains(transientCodes, refused.ErrorCode) || refused.Description == storeClosed
	}
	var watch *nats.APIError // of the library below the jetstream package, which implements watches
	if errors.As(err, &watch) {
		return slices.Contains(transientCodes, jetstream.ErrorCode(watch.ErrorCode))
	}
	var network *net.OpError // how the operating system reports a lost connection
	if errors.As(err, &network) {
		return true
	}
	for _, transient := range []error{
		io.EOF, io.ErrClosedPipe, net.ErrClosed,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrNoServers, nats.ErrStaleConnection,
		jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout, context.DeadlineExceeded,
	} {
		if errors.Is(err, transient) {
			return true
		}
	}
	return false
}

// codeInvalidJSON is the code of an error for a request with fields that the server
// does not know, as in nats-server's errors.json.
const codeInvalidJSON = jetstream.ErrorCode(10025)

// storeClosed is the text of a refusal by a server that is about to end. Its code is the
// general one for what a store refuses.
const storeClosed = "store is closed"

// codeNoPeers is JSClusterNoPeersErrF: a cluster does not know enough servers for the replicas
// of a stream, for example while its servers start.
const codeNoPeers = jetstream.ErrorCode(10005)

// transientCodes are the codes of JetStream errors that report something away, as
// in nats-server's errors.json.
var transientCodes = []jetstream.ErrorCode{
	10004, // JSClusterIncompleteErr
	codeNoPeers,
	10008, // JSClusterNotAvailErr
	10075, // JSPeerRemapErr
	10118, // JSStreamOfflineErr
	codeOnItsWay,
	10163, // JSStreamExpectedLastSeqPerSubjectNotReady
}

// explainConnect says why a connection failed and what to do about it. Its text
// never contains a secret.
func explainConnect(err error) error {
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return errors.New("no server answers there: is it running, and is the address right?")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("the server rejects the credentials (%w): check the user in --nats, or --nats-creds, --nats-nkey, --nats-token-file", err)
	case errors.Is(err, nats.ErrSecureConnRequired):
		return fmt.Errorf("%w: write tls:// in --nats, and give --nats-tls-ca if a private authority has signed its certificate", err)
	}
	return err
}

var errNoJetStream = errors.New("nothing answers JetStream requests: start the server with JetStream (nats-server -js), and enable it for this account")

// explainJetStream adds the cause to an error of JetStream whose text does not
// name it.
func explainJetStream(err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == codeNoPeers:
		return fmt.Errorf("%w: the cluster has fewer servers that could keep it than --replicas says, or some of them are away", err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: start the server with JetStream (nats-server -js), and enable it for this account", err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Errorf("%w: a worker needs the permissions in docs/reference/nats.md", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("%w: JetStream does not answer (it is off, has no leader, or the user has no permission to use it: see docs/reference/nats.md)", err)
	}
	return err
}

// maxSubject bounds the subjects that are sent, in bytes. The server accepts
// lines of 4 KiB, which also hold a reply subject and what JetStream's API adds.
const maxSubject = 1024

// checkSubject returns an error for a subject for which the server could close
// the connection. Call it before sending anything with a part that others chose.
func checkSubject(subject string) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("the subject %.60s… has %d bytes, more than the %d allowed", subject, len(subject), maxSubject)
	}
	return nil
}

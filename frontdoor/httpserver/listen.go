package httpserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/agentworker/worker/frontdoor/httpserver/certs"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
)

// listen opens the socket. Others than the programs of this machine are kept
// out: the token would travel in the clear.
func listen(addr string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address: use 127.0.0.1:PORT, and a tunnel or a proxy with TLS for other machines", addr)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w (another port will do: 127.0.0.1:0 is a free one)", err)
	}
	return listener, nil
}

// listen opens the socket for other machines, with a certificate.
func (at TLS) listen(named *tokens.File, log *slog.Logger) (net.Listener, *certs.Pair, error) {
	if named.Len() == 0 {
		return nil, nil, errors.New("there is no named token, and no other counts there: 'worker tokens add NAME --scope read' makes one")
	}
	pair, err := certs.Open(at.CertFile, at.KeyFile, log)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", at.Addr)
	if err != nil {
		return nil, nil, err
	}
	return tls.NewListener(listener, pair.Config()), pair, nil
}

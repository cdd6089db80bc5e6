package eventbus

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// syncInterval is how much a power cut may lose. A killed process loses
	// nothing: what is acknowledged has been handed to the kernel.
	syncInterval = 10 * time.Second

	// maxPayload bounds one message of the embedded server, in bytes; the
	// server warns above it.
	maxPayload = 8 << 20
)

// startServer starts a server that keeps its streams in dir. Nothing listens
// until somebody calls its AcceptLoop, which then takes a free port of loopback;
// every connection, also one within the process, needs the token.
func startServer(dir, token string, log *slog.Logger) (*server.Server, *serverLog, error) {
	srv, err := server.NewServer(&server.Options{
		DontListen:             true,
		Host:                   "127.0.0.1",
		Port:                   server.RANDOM_PORT,
		Authorization:          token,
		JetStream:              true,
		StoreDir:               dir,
		SyncInterval:           syncInterval,
		MaxPayload:             maxPayload,
		JetStreamMaxMemory:     256 << 20,
		JetStreamMaxStore:      1 << 40, // the disk is the limit, and ours by age and size
		DisableJetStreamBanner: true,
		NoSigs:                 true,
	})
	if err != nil {
		return nil, nil, err
	}
	fatal := make(chan string, 1)
	said := &serverLog{log: log, fatal: fatal}
	srv.SetLoggerV2(said, false, false, false)
	srv.Start() // without a listener it has started when it returns
	select {
	case msg := <-fatal:
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, nil, errors.New(msg)
	default:
	}
	if !srv.JetStreamEnabled() {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, nil, errors.New("JetStream did not start")
	}
	return srv, said, nil
}

// serverLog hands the server's log on.
type serverLog struct {
	log   *slog.Logger
	fatal chan string            // takes the first fatal message
	last  atomic.Pointer[string] // the last error
	at    atomic.Int64           // when that was said, in ns of Unix time
}

func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l *serverLog) Errorf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.last.Store(&msg)
	l.at.Store(time.Now().UnixNano())
	l.log.Error(msg)
}

func (l *serverLog) Fatalf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.log.Error(msg)
	select {
	case l.fatal <- msg:
	default:
	}
}

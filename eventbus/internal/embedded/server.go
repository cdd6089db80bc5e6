package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// maxPayload bounds one message of the embedded server, in bytes. The server
// warns about any larger limit.
const maxPayload = 8 << 20

// Sync says when the embedded store has the disk keep what it has written.
type Sync struct {
	Always   bool          // before each acknowledgement
	Interval time.Duration // else this often; 0 means [DefaultSync]
}

// startServer starts a server that keeps its streams in dir. It does not listen
// until its AcceptLoop is called, which then takes a free port of loopback. Every
// connection needs the token, one within the process too.
func startServer(dir, token string, sync Sync, log *slog.Logger) (*server.Server, *serverLog, error) {
	srv, err := server.NewServer(&server.Options{
		DontListen:             true,
		Host:                   "127.0.0.1",
		Port:                   server.RANDOM_PORT,
		Authorization:          token,
		JetStream:              true,
		StoreDir:               dir,
		SyncInterval:           cmp.Or(sync.Interval, DefaultSync),
		SyncAlways:             sync.Always,
		MaxPayload:             maxPayload,
		JetStreamMaxMemory:     256 << 20,
		JetStreamMaxStore:      1 << 40, // the disk is the limit, and retention by age and size
		DisableJetStreamBanner: true,
		NoSigs:                 true,
	})
	if err != nil {
		return nil, nil, err
	}
	fatal := make(chan string, 1)
	srvLog := &serverLog{log: log, fatal: fatal, failed: make(chan struct{})}
	srv.SetLoggerV2(srvLog, false, false, false)
	srv.Start() // without a listener the server has started when this returns
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
	return srv, srvLog, nil
}

// criticalErrors are parts of the lines that a server logs when it accepts nothing any more
// until it is restarted. An example is the first write error of a stream. It has no other way
// to say so while it does not listen.
var criticalErrors = []string{
	"critical write error", "Critical write error", "will be DISABLED", "disabling JetStream",
}

// noBlock is in the line that a server logs, behind the name of a stream in brackets, when
// it wants to read a block of that and there is none. It then forgets what was in it.
const noBlock = "loadBlock error: message block data missing"

// ofConnection is in the lines about a single connection, which any program on this machine
// can cause, with words of its own: they say nothing of the store.
const ofConnection = " - cid:"

// serverLog forwards the server's log, and remembers its last error and its first
// critical one.
type serverLog struct {
	log    *slog.Logger
	fatal  chan string            // takes the first fatal message
	last   atomic.Pointer[string] // the last error
	lastAt atomic.Int64           // when it was logged, in ns of Unix time

	once     sync.Once
	critical string        // valid once failed is closed
	failed   chan struct{} // closed with the first critical error

	streams sync.Map // the streams in which it has missed a block
}

func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Warnf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.log.Warn(msg)
	if !strings.Contains(msg, ofConnection) {
		l.watch(msg)
	}
}

func (l *serverLog) Errorf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.log.Error(msg)
	if strings.Contains(msg, ofConnection) {
		return
	}
	l.last.Store(&msg)
	l.lastAt.Store(time.Now().UnixNano())
	l.watch(msg)
}

func (l *serverLog) Fatalf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.log.Error(msg)
	select {
	case l.fatal <- msg:
	default:
	}
}

func (l *serverLog) watch(msg string) {
	if slices.ContainsFunc(criticalErrors, func(part string) bool { return strings.Contains(msg, part) }) {
		l.fail(msg)
	}
	if before, _, found := strings.Cut(msg, "] "+noBlock); found {
		l.streams.Store(before[strings.LastIndexByte(before, '[')+1:], true)
	}
}

func (l *serverLog) fail(msg string) {
	l.once.Do(func() {
		l.critical = msg
		close(l.failed)
	})
}

// damaged has the store opened anew because of a file that was damaged.
func (l *serverLog) damaged(err error) { l.fail(err.Error()) }

// missed reports whether the server has missed a block of a stream.
func (l *serverLog) missed(stream string) bool {
	_, found := l.streams.Load(stream)
	return found
}

// failure returns the critical error after which the server takes nothing any
// more; nil means it works.
func (l *serverLog) failure() error {
	select {
	case <-l.failed:
		return errors.New(l.critical)
	default:
		return nil
	}
}

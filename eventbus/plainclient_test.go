package eventbus_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// publishing publishes the events of a session in parts, and remembers all of them.
type publishing struct {
	t    *testing.T
	bus  *eventbus.Bus
	path event.Path
	p    *eventbus.Publisher
	all  []string
}

func newPublishing(t *testing.T) (s *publishing, address string) {
	t.Helper()
	at := natstest.Start(t, server.Options{}).ClientURL()
	bus := openURL(t, at)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	path := event.Path{{SessionID: "ses_r"}}
	s = &publishing{t: t, bus: bus, path: path}
	if s.p, err = bus.Publisher(path); err != nil {
		t.Fatal(err)
	}
	return s, u.Host
}

func (s *publishing) publish(n int) {
	s.t.Helper()
	for range n {
		ev := event.ContentDelta{MessageID: "m", Delta: fmt.Sprint(len(s.all)), Offset: len(s.all)}
		text, err := event.Encode(ev)
		if err = errors.Join(err, s.p.Publish(s.t.Context(), ev), s.p.Flush(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
		s.all = append(s.all, string(text))
	}
}

func (s *publishing) end() {
	s.t.Helper()
	if err := s.p.End(s.t.Context(), event.SessionEnd{Status: "completed"}); err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, `{"type":"session_end","status":"completed"}`)
}

const plainSubject = "agents.v1.ws.events.ses_r.>"

// TestPlainSubscription: one SUB in NATS's text protocol gets the live stream.
func TestPlainSubscription(t *testing.T) {
	s, address := newPublishing(t)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	send := func(text string) {
		if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	send(`CONNECT {"verbose":false,"headers":true}`)
	send("SUB " + plainSubject + " 1")
	send("PING")
	var got []string
	for len(got) == 0 || !strings.Contains(got[len(got)-1], `"session_end"`) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch args := strings.Fields(line); args[0] {
		case "PONG": // the subscription is there
			s.publish(3)
			s.end()
		case "PING":
			send("PONG")
		case "HMSG":
			headers, err1 := strconv.Atoi(args[len(args)-2])
			size, err2 := strconv.Atoi(args[len(args)-1])
			data := make([]byte, size+2)
			_, err3 := io.ReadFull(lines, data)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			got = append(got, string(data[headers:size]))
		}
	}
	if !slices.Equal(got, s.all) {
		t.Errorf("got %v, want %v", got, s.all)
	}
}

// TestFollowScript: the example script reads a stream from the start and from a
// sequence number, and ends with the session.
func TestFollowScript(t *testing.T) {
	s, address := newPublishing(t)
	s.publish(3)
	cmd := exec.CommandContext(t.Context(), "python3", filepath.Join("..", "docs", "examples", "follow.py"), address, plainSubject)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("the example needs python3: %v", err)
	}
	var seqs, events []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		seq, event, _ := strings.Cut(lines.Text(), " ")
		seqs, events = append(seqs, seq), append(events, event)
		if len(events) == 3 { // these were stored; the rest is live
			s.publish(2)
			s.end()
		}
	}
	if err := cmd.Wait(); err != nil || !slices.Equal(events, s.all) {
		t.Fatalf("%v, events %v, want %v", err, events, s.all)
	}
	text, err := exec.CommandContext(t.Context(), "python3", filepath.Join("..", "docs", "examples", "follow.py"), address, plainSubject, seqs[2]).Output()
	if want := len(s.all) - 2; err != nil || strings.Count(string(text), "\n") != want || !strings.HasPrefix(string(text), seqs[2]+" ") {
		t.Errorf("from %s: %v\n%swant %d events", seqs[2], err, text, want)
	}
}

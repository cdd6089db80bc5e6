package natsservice_test

import (
	"net/textproto"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/natsservice"
)

// FuzzLongFields: after a request with any headers, reply subject and body, the worker
// answers the next one.
func FuzzLongFields(f *testing.F) {
	shared := newEnv(f, answer("x"), natsservice.Options{})
	for _, n := range []int{1, 64, 65, 255, 256, 3900, 4000, 4096, 5000, 50_000} {
		for place := range 4 {
			f.Add(uint8(place), uint16(n), "x")
		}
	}
	f.Add(uint8(0), uint16(1), "*")
	f.Add(uint8(0), uint16(3), "a.")
	f.Add(uint8(0), uint16(300), " ")
	f.Add(uint8(0), uint16(300), "\n")
	f.Fuzz(func(t *testing.T, place uint8, n uint16, text string) {
		at := *shared
		at.t = t // those of a target may not be called within it
		e := &at
		long := strings.Repeat(text, min(int(n), 50_000/max(1, len(text))))
		switch place % 4 {
		case 0:
			msg := e.request(taskSubject, call, nats.Header{natsservice.SessionHeader: {long}})
			refused := msg.Header.Get(micro.ErrorCodeHeader) != ""
			sent := len(textproto.TrimString(long)) // nats.go trims the values of headers
			if sent > 255 && !refused {
				t.Errorf("%d bytes are published on: %s", sent, msg.Data)
			}
		case 1: // nobody can be told
			reply := strings.Trim(strings.Map(func(r rune) rune {
				if r <= ' ' || r == '*' || r == '>' || r == 0x7f {
					return '_'
				}
				return r
			}, long), ".")
			if len(reply) > 4000 || reply == "" || strings.Contains(reply, "..") {
				return // the client's own connection would not live through it
			}
			for _, subject := range []string{taskSubject, "agents.v1.ws.service.agents", "agents.v1.ws.service.approvals", "agents.v1.ws.service.answer", "$SRV.PING"} {
				if err := e.client.PublishRequest(subject, reply, []byte(call)); err != nil {
					t.Fatal(err)
				}
			}
		case 2:
			e.request("agents.v1.ws.service.answer", `{"approvalId":"`+strings.ToValidUTF8(long, "")+`","approve":true}`, nil)
		case 3:
			e.request(taskSubject, long, nil)
		}
		if msg := e.request("agents.v1.ws.service.agents", "", nil); !strings.Contains(string(msg.Data), "explore") {
			t.Errorf("afterwards: %s", msg.Data)
		}
		if err := e.bus.Conn().Flush(); err != nil {
			t.Fatalf("the worker's connection: %v", err)
		}
	})
}

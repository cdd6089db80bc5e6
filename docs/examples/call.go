// The program call gives a task to an agent over NATS, follows what it does, and prints its answer.
//
//	go run call.go nats://127.0.0.1:4222 WORKSPACE AGENT PROMPT
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// event is what is used of an event. That of a subagent stands in envelopes.
type event struct {
	Type, Status, ToolName, AgentType string
	Event                             *event
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

func run(url, workspace, agent, prompt string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()

	// The worker says here where the events of the call are.
	opened, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return err
	}
	service := "agents.v1." + workspace + ".service."
	var accepted struct{ Status, Agent, SessionID string }
	if err := request(ctx, nc, service+"task", nats.Header{"Agent-Session-Reply": {opened.Subject}}, map[string]any{
		"description": "an example", "prompt": prompt, "agentType": agent, "background": true,
	}, &accepted); err != nil {
		return err
	}
	fmt.Println(accepted.Status, accepted.Agent)

	announced, err := opened.NextMsgWithContext(ctx)
	if err != nil {
		return err
	}
	var where struct{ Subject, Stream string }
	if err := json.Unmarshal(announced.Data, &where); err != nil {
		return err
	}
	if err := follow(ctx, nc, where.Stream, where.Subject); err != nil {
		return err
	}

	var answer struct{ Status, Text string }
	if err := request(ctx, nc, service+"task_result", nil, map[string]any{"sessionId": accepted.SessionID}, &answer); err != nil {
		return err
	}
	fmt.Println(answer.Status + ":")
	fmt.Println(answer.Text)
	return nil
}

// follow prints what happens, from the first event to the end of the call's session.
func follow(ctx context.Context, nc *nats.Conn, stream, subject string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		var ev event
		if err := json.Unmarshal(msg.Data(), &ev); err != nil {
			return err
		}
		who := "the caller"
		for ; ev.Event != nil; ev = *ev.Event {
			who = ev.AgentType
		}
		switch ev.Type {
		case "tool_call_start":
			fmt.Println(who, "calls", ev.ToolName)
		case "session_end":
			fmt.Println(who, "has ended:", ev.Status)
		}
		if ev.Type == "session_end" && msg.Subject() == strings.TrimSuffix(subject, ">")+"turn" {
			return nil
		}
	}
}

// request makes a call of the service.
func request(ctx context.Context, nc *nats.Conn, subject string, header nats.Header, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	msg, err := nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Header: header, Data: data})
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if code := msg.Header.Get(micro.ErrorCodeHeader); code != "" {
		return fmt.Errorf("%s: %s: %s", subject, code, msg.Header.Get(micro.ErrorHeader))
	}
	return json.Unmarshal(msg.Data, into)
}

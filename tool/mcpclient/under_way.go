package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// Bounds of what a server says while a call of it runs.
const (
	tellEvery = 500 * time.Millisecond // the progress of a call, at most
	maxLogs   = 100                    // lines of a call
	maxSaid   = 500                    // characters of a message
	maxNotes  = 5
	maxLevel  = 20 // characters of a word for how grave a message is
)

// underWay is a call that a server works on.
type underWay struct {
	ctx   context.Context
	ask   func(context.Context, tool.Inquiry) (tool.Reply, error)
	tell  func(tool.Progress)
	clock *clock

	mu    sync.Mutex
	told  time.Time // when its progress was told last
	logs  int
	asked int
	notes []string // for the model, behind the result
}

// calls has the calls that a connection's server works on, by their tokens.
type calls struct {
	mu    sync.Mutex
	last  int
	all   map[string]*underWay
	order []string
}

// begin adds a call, and returns its token.
func (c *calls) begin(call *underWay) (token string, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	token = strconv.Itoa(c.last)
	if c.all == nil {
		c.all = map[string]*underWay{}
	}
	c.all[token], c.order = call, append(c.order, token)
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, token)
		c.order = slices.DeleteFunc(c.order, func(t string) bool { return t == token })
	}
}

func (c *calls) of(token string) *underWay {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[token]
}

// newest returns the call that began last; nil means that none runs. A server does not say to
// which call a question or a line of its log belongs.
func (c *calls) newest() *underWay {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.order) == 0 {
		return nil
	}
	return c.all[c.order[len(c.order)-1]]
}

// mayAsk counts the questions of a call.
func (u *underWay) mayAsk() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	return u.asked <= maxElicitation
}

// note adds a sentence to what the model reads of the call.
func (u *underWay) note(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.notes) < maxNotes {
		u.notes = append(u.notes, "("+text+")")
	}
}

func (u *underWay) noted() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.notes, "\n")
}

// progress tells how far a call is, unless it was told a moment ago.
func (c *connection) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, ok := req.Params.ProgressToken.(string)
	u := c.calls.of(token)
	if !ok || u == nil || u.tell == nil {
		return
	}
	u.mu.Lock()
	now := time.Now()
	done := req.Params.Total > 0 && req.Params.Progress >= req.Params.Total
	if soon := now.Sub(u.told) < tellEvery; soon && !done {
		u.mu.Unlock()
		return
	}
	u.told = now
	u.mu.Unlock()
	u.tell(tool.Progress{Done: req.Params.Progress, Total: req.Params.Total, Message: said(req.Params.Message)})
}

// logged tells a line of the server's log, as one of the call that runs.
func (c *connection) logged(_ context.Context, req *mcp.LoggingMessageRequest) {
	text, ok := req.Params.Data.(string)
	if !ok {
		raw, err := json.Marshal(req.Params.Data)
		if err != nil {
			return
		}
		text = string(raw)
	}
	u := c.calls.newest()
	if u == nil || u.tell == nil {
		c.servers.debug(c.server, fmt.Sprintf("%s: %s", req.Params.Level, said(text)))
		return
	}
	u.mu.Lock()
	u.logs++
	many := u.logs > maxLogs
	u.mu.Unlock()
	if !many {
		u.tell(tool.Progress{Level: termtext.OneLine(string(req.Params.Level), maxLevel), Message: said(text)})
	}
}

// said is what a server says, in a line.
func said(text string) string {
	return termtext.OneLine(strings.ToValidUTF8(termtext.Head(text, 4*maxSaid), "\uFFFD"), maxSaid)
}

// clock ends a call once its time is over. It stands still while a person is asked.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	began time.Time
	left  time.Duration
	holds int
	end   func()
}

func startClock(limit time.Duration, end func()) *clock {
	return &clock{timer: time.AfterFunc(limit, end), began: time.Now(), left: limit, end: end}
}

// hold has the clock stand still until the returned function is called.
func (c *clock) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		c.timer.Stop()
		c.left -= time.Since(c.began)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds--; c.holds == 0 {
			c.began = time.Now()
			c.timer = time.AfterFunc(max(0, c.left), c.end)
		}
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
}

// meta is what goes with a call.
func meta(token, traceparent string) mcp.Meta {
	m := mcp.Meta{"progressToken": token}
	if traceparent != "" {
		m["traceparent"] = traceparent
	}
	return m
}

// answers reports whether a server still does, after a call of it has failed.
func answers(client *mcp.ClientSession, err error) bool {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), stdio.EndTime)
	defer cancel()
	return client.Ping(ctx, nil) == nil
}

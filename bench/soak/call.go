package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// silence is how long a stream may say nothing before its reader goes to another
// worker: a comment comes after 15 s.
const silence = 25 * time.Second

// seen is an event that a reader was shown.
type seen struct {
	seq uint64
	sum uint64 // of its JSON; 0 means not known
}

// call is a task call, or only the following of one, through whichever workers run.
type call struct {
	worker   *worker   // that took the call; nil means none is known
	excuses  []string  // how its sessions may end, besides completed
	root     string    // its session; empty means the answer did not say
	seen     []seen    // in this order
	resumed  int       // how often the stream broke off and went on
	ended    bool      // the session_end was seen
	endedAt  time.Time // then
	document *document // the result, where it was heard
	wrong    error     // what is not as promised, or why it has not ended
}

// document is what is used of a task's result.
type document struct {
	Type, Status, Error string
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

const lookup = `{"description":"a look","prompt":"Look.","agentType":"lead"}`

// caller makes task calls, one after the other, until ctx ends; it follows each to
// its end. Some streams it breaks off itself.
func (f *fleet) caller(ctx context.Context, number uint64) {
	random := rand.New(rand.NewPCG(f.seed, number))
	for ctx.Err() == nil {
		up := f.up()
		if len(up) == 0 {
			if !f.pause(10 * time.Millisecond) {
				return
			}
			continue
		}
		f.call(up[random.IntN(len(up))], random)
	}
}

// callers starts n callers, and returns what waits for them to end behind ctx.
func (f *fleet) callers(ctx context.Context, n int) (wait func()) {
	var calling sync.WaitGroup
	for i := range n {
		calling.Go(func() { f.caller(ctx, uint64(i)) })
	}
	return func() {
		calling.Wait()
		f.following.Wait()
	}
}

// call makes a task call and follows it to its end. Some streams it breaks off
// itself; of some calls another reader follows the stream, too.
func (f *fleet) call(w *worker, random *rand.Rand) {
	c := &call{worker: w}
	f.begin(c)
	defer f.note(c)
	req := request{method: "POST", path: "/v1/tasks", body: lookup, breakAt: -1}
	if random.IntN(4) == 0 {
		req.breakAt = random.IntN(60)
	}
	if random.IntN(4) == 0 {
		req.begun = func() { f.following.Go(func() { f.follow(c.root) }) }
	}
	if err := f.stream(c, w, req); err != nil && c.root == "" {
		return // not taken, as far as anybody knows
	}
	f.resume(c)
}

// follow follows a session from its first event.
func (f *fleet) follow(root string) {
	c := &call{root: root}
	f.begin(c)
	defer f.note(c)
	f.resume(c)
}

// resume goes on with a stream until its end.
func (f *fleet) resume(c *call) {
	var last error
	tries := 0
	for deadline := time.Now().Add(patience); !c.ended && c.wrong == nil; tries++ {
		if up := f.up(); len(up) > 0 {
			w := up[tries%len(up)]
			before := len(c.seen)
			if before > 0 {
				c.resumed++
			}
			if last = f.stream(c, w, request{method: "GET", path: "/v1/sessions/" + c.root + "/events", breakAt: -1}); len(c.seen) > before {
				deadline = time.Now().Add(patience)
			}
		}
		switch {
		case c.ended:
		case f.ctx.Err() != nil:
			c.wrong = f.ctx.Err()
		case time.Now().After(deadline):
			c.wrong = fmt.Errorf("session %s has not ended within %s; last: %v", c.root, patience, last)
		default:
			f.pause(100 * time.Millisecond)
		}
	}
}

// request is one HTTP request that is answered with a stream.
type request struct {
	method, path, body string
	breakAt            int    // the reader breaks off behind so many events; below 0: it does not
	begun              func() // called when the session is known; nil means not
}

// stream makes a request and reads the answer until it ends or breaks off.
func (f *fleet) stream(c *call, w *worker, r request) error {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, r.method, w.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", "text/event-stream")
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if n := len(c.seen); n > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(c.seen[n-1].seq, 10))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // for people
		return fmt.Errorf("%s %s at %s: %s %s", r.method, r.path, w.name, resp.Status, text)
	}
	if id := resp.Header.Get("Agent-Session"); id != "" {
		c.root = id
		if r.begun != nil {
			r.begun()
		}
	}
	return c.read(resp.Body, r.breakAt, func() { watch.Reset(silence) })
}

// read reads server-sent events. heard is called for each line.
func (c *call) read(body io.Reader, breakAt int, heard func()) error {
	lines := bufio.NewReader(body)
	var id, name, data string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		heard()
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if err := c.take(id, name, data); err != nil {
				return err
			}
			if breakAt--; breakAt == 0 {
				return errors.New("broken off by the reader")
			}
			id, name, data = "", "", ""
		}
	}
}

// take takes an event of a stream.
func (c *call) take(id, name, data string) error {
	switch name {
	case "", "stream_error":
		if name != "" {
			return errors.New(data)
		}
		return nil
	case "task_result", "task_error":
		c.document = new(document)
		return json.Unmarshal([]byte(data), c.document)
	case "session_end":
		c.ended, c.endedAt = true, time.Now()
	}
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		c.wrong = fmt.Errorf("session %s: an event %q has the id %q", c.root, name, id)
		return c.wrong
	}
	c.seen = append(c.seen, seen{seq, hash(data)})
	return nil
}

// begin keeps a call that goes on, note one that has ended, for the audit.
func (f *fleet) begin(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active[c] = true
}

func (f *fleet) note(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.active, c)
	f.calls = append(f.calls, c)
}

// process runs "worker task", reads its events, and kills it behind killAt of them,
// unless it is done before; killAt below 0: it is not killed.
func (f *fleet) process(killAt int, delay time.Duration) (killed bool, err error) {
	c := new(call)
	f.begin(c)
	defer f.note(c)
	cmd := f.command("task", "lead", "Look.", "--events", "--log-level", "info")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(f.ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	var kill *time.Timer
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for n := 0; lines.Scan(); n++ {
		if n == killAt {
			kill = time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		}
		var event struct {
			Seq             uint64
			Type, SessionID string
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Seq == 0 {
			continue // cut off, or the result
		}
		if c.root == "" {
			c.root = event.SessionID // of its session_start
		}
		c.seen = append(c.seen, seen{seq: event.Seq})
		if event.Type == "session_end" {
			c.ended, c.endedAt = true, time.Now()
		}
	}
	err = cmd.Wait()
	killed = kill != nil && !kill.Stop() && err != nil
	if killed || f.ctx.Err() != nil {
		return killed, nil
	}
	if err != nil {
		return false, fmt.Errorf("worker task (session %s): %w: %s", c.root, err, said.String())
	}
	c.worker = &worker{name: "worker task"} // which was not disturbed
	return false, nil
}

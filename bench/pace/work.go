//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
)

// serveModel streams answers until it is killed. It speaks HTTP by itself: what is measured shares the
// machine with it.
func serveModel() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for from := bufio.NewReader(conn); stream(conn, from) == nil; {
			}
		}()
	}
}

// stream answers a request. A piece is the time at which it was sent. The model's name says how many
// pieces there are, and how many a second.
func stream(conn net.Conn, from *bufio.Reader) error {
	r, err := http.ReadRequest(from)
	if err != nil {
		return err
	}
	var req struct{ Model string }
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	var pieces, rate int
	if _, err := fmt.Sscanf(req.Model, "%d-%d", &pieces, &rate); err != nil {
		return err
	}
	chunk := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range pieces {
		event := `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1758000000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"` +
			strconv.FormatInt(time.Now().UnixMicro(), 10) + ` "},"logprobs":null,"finish_reason":null}]}` + "\n\n"
		if _, err := conn.Write(fmt.Appendf(chunk, "%x\r\n%s\r\n", len(event), event)); err != nil {
			return err
		}
		chunk = chunk[:0]
		<-tick.C
	}
	const end = `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(end), end)
	return err
}

// watched is how many of the sessions have a client that reads them.
const watched = 100

// steady is how long a load is measured, in answers: all sessions stream, and as many answers begin at any
// time as end.
const steady = 2

// measure runs a load, and prints its figures.
func measure(l load, url string) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "worker-pace-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bus, err := eventbus.Open(ctx, "pace", &eventbus.Options{StoreDir: filepath.Join(dir, "store")})
	if err != nil {
		return err
	}
	defer bus.Close()
	log, err := audit.Open(ctx, bus, audit.Options{User: "bench"})
	if err != nil {
		return err
	}
	defer log.Close()
	pieces := int(l.For.Seconds() * float64(l.Rate))
	m := openaimodel.New(fmt.Sprintf("%d-%d", pieces, l.Rate), &openaimodel.Options{
		BaseURL: url, EachDelta: l.Each, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.Sessions}},
	})
	sessions, err := session.OpenManager(ctx, session.Options{
		Bus: bus, Audit: log, Workspace: permission.Workspace{Root: dir}, Static: noRules{},
		Model: func(string) (model.Model, error) { return m, nil },
	})
	if err != nil {
		return err
	}
	defer sessions.Close()
	f, err := answers(ctx, bus, sessions, l, pieces)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// answers has all sessions answer again and again, and returns what that costs. The sessions begin one by
// one, spread over the time of an answer, and what is measured begins when all of them stream.
func answers(ctx context.Context, bus *eventbus.Bus, sessions *session.Manager, l load, pieces int) (f figures, err error) {
	all := make([]*session.Session, l.Sessions)
	for i := range all {
		if all[i], err = sessions.Open(ctx, session.Spec{Agent: "bench", Models: []string{"m"}}); err != nil {
			return f, err
		}
	}
	var mu sync.Mutex
	var seen delays
	var running sync.WaitGroup
	begin := time.Now().Add(l.For)
	end := begin.Add(steady * l.For)
	for i, s := range all {
		if i%max(1, l.Sessions/watched) == 0 {
			running.Go(func() {
				own := follow(ctx, bus, s.Path(), begin, end)
				mu.Lock()
				defer mu.Unlock()
				seen.first, seen.later = append(seen.first, own.first...), append(seen.later, own.later...)
			})
		}
		running.Go(func() {
			time.Sleep(l.For * time.Duration(i) / time.Duration(l.Sessions))
			var out session.Outcome
			whole := true
			for whole && time.Now().Before(end) {
				out = s.Prompt(ctx, "Stream.")
				whole = strings.Count(out.Text, " ") == pieces
			}
			if err := s.End(out.Status, out.Err); err != nil || !whole {
				mu.Lock()
				defer mu.Unlock()
				f.Lost++
			}
		})
	}
	time.Sleep(time.Until(begin))
	before, began := processorTime(), time.Now()
	stop, err := profiled(l.Profile)
	if err != nil {
		return f, err
	}
	time.Sleep(time.Until(end))
	stop()
	used, lasted := processorTime()-before, time.Since(began).Seconds()
	running.Wait()
	f.Cores = used.Seconds() / lasted
	f.Micros = float64(used.Microseconds()) / (lasted * float64(l.Rate*l.Sessions))
	f.First, f.FirstHigh = share(seen.first, 50), share(seen.first, 99)
	f.Later, f.LaterHigh = share(seen.later, 50), share(seen.later, 99)
	return f, nil
}

// delays are how many ms after they were sent a client had the pieces of answers: the first of each, and
// the others.
type delays struct{ first, later []float64 }

// follow reads a session as a client does, and returns the delays of what was sent from begin to end.
func follow(ctx context.Context, bus *eventbus.Bus, path event.Path, begin, end time.Time) (all delays) {
	answer := ""
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
		if err != nil || d.Ends() {
			return all
		}
		var ev struct{ Type, MessageID, Delta string }
		if json.Unmarshal(d.Raw, &ev) != nil || ev.Type != "content_delta" {
			continue
		}
		now := time.Now().UnixMicro()
		to := &all.later
		if ev.MessageID != answer {
			answer, to = ev.MessageID, &all.first
		}
		for piece := range strings.FieldsSeq(ev.Delta) {
			at, err := strconv.ParseInt(piece, 10, 64)
			if err == nil && begin.UnixMicro() <= at && at < end.UnixMicro() {
				*to = append(*to, float64(now-at)/1000)
			}
			to = &all.later
		}
	}
	return all
}

// share returns the value that so many of 100 do not pass.
func share(all []float64, hundredths int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*hundredths/100]
}

// profiled profiles the processor until stop is called.
func profiled(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); out.Close() }, pprof.StartCPUProfile(out)
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

type noRules struct{}

func (noRules) Rules() (*permission.Ruleset, error) { return permission.NewRuleset() }
func (noRules) Allow(string, []string) error        { return errors.ErrUnsupported }

//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
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

// serveModel streams answers until it is killed. A piece is the time at which it was sent. The model's
// name says how many pieces there are, and how many a second.
func serveModel() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Model string }
		if json.NewDecoder(r.Body).Decode(&req) != nil {
			return
		}
		var pieces, rate int
		if _, err := fmt.Sscanf(req.Model, "%d-%d", &pieces, &rate); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for range pieces {
			_, err := fmt.Fprintf(w, `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1758000000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"%d "},"logprobs":null,"finish_reason":null}]}`+"\n\n", time.Now().UnixMicro())
			if err != nil || out.Flush() != nil {
				return
			}
			<-tick.C
		}
		fmt.Fprint(w, `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
}

// watched is how many of the sessions have a client that reads them.
const watched = 100

// spread is the time in which the sessions begin.
const spread = 3 * time.Second

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

// answers has all sessions answer, and returns what that has cost.
func answers(ctx context.Context, bus *eventbus.Bus, sessions *session.Manager, l load, pieces int) (f figures, err error) {
	all := make([]*session.Session, l.Sessions)
	for i := range all {
		if all[i], err = sessions.Open(ctx, session.Spec{Agent: "bench", Models: []string{"m"}}); err != nil {
			return f, err
		}
	}
	var mu sync.Mutex
	var first, later []float64
	var running sync.WaitGroup
	before, began := processorTime(), time.Now()
	for i, s := range all {
		if i%max(1, l.Sessions/watched) == 0 {
			running.Go(func() {
				at, rest := follow(ctx, bus, s.Path())
				mu.Lock()
				defer mu.Unlock()
				first, later = append(first, at...), append(later, rest...)
			})
		}
		running.Go(func() {
			time.Sleep(spread * time.Duration(i) / time.Duration(l.Sessions)) // nobody has all begin at once
			out := s.Prompt(ctx, "Stream.")
			err := s.End(out.Status, out.Err)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || strings.Count(out.Text, " ") != pieces {
				f.Lost++
			}
		})
	}
	running.Wait()
	used := processorTime() - before
	f.Cores = used.Seconds() / time.Since(began).Seconds()
	f.Micros = float64(used.Microseconds()) / float64(pieces*l.Sessions)
	f.First, f.FirstHigh, f.Later = share(first, 50), share(first, 99), share(later, 99)
	return f, nil
}

// follow reads a session as a client does, and returns how many ms after they were sent its pieces came.
func follow(ctx context.Context, bus *eventbus.Bus, path event.Path) (first, later []float64) {
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{Live: true}) {
		if err != nil || d.Ends() {
			return first, later
		}
		var ev struct{ Type, Delta string }
		if json.Unmarshal(d.Raw, &ev) != nil || ev.Type != "content_delta" {
			continue
		}
		now := time.Now().UnixMicro()
		for piece := range strings.FieldsSeq(ev.Delta) {
			at, err := strconv.ParseInt(piece, 10, 64)
			if err != nil {
				continue
			}
			ms := float64(now-at) / 1000
			if len(first) == 0 {
				first = append(first, ms)
			} else {
				later = append(later, ms)
			}
		}
	}
	return first, later
}

// share returns the value that so many of 100 do not pass.
func share(all []float64, hundredths int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*hundredths/100]
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

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/bench/stream"
)

// timedFor is how long a peer repeats a script that takes less.
const timedFor = 400 * time.Millisecond

// hangLimit is how long the next child may take to come to its model.
const hangLimit = 5 * time.Second

// repeated measures a run of a script: its time, the processors' time, which other
// work on the machine hardly changes, and its allocations.
func repeated(open scen.Peer, script *scen.Script) (stream.Figures, error) {
	agents, err := open(script)
	if err != nil {
		return nil, err
	}
	n := 0
	var before, after runtime.MemStats
	var took time.Duration
	err = once(agents, script)
	runtime.GC()
	runtime.ReadMemStats(&before)
	busy := processorTime()
	for start := time.Now(); err == nil && (n < 3 || took < timedFor); n++ {
		err = once(agents, script)
		took = time.Since(start)
	}
	busy = processorTime() - busy
	runtime.ReadMemStats(&after)
	return stream.Figures{
		"ms":     ms(took) / float64(n),
		"cpu":    ms(busy) / float64(n),
		"allocs": float64(after.Mallocs-before.Mallocs) / float64(n),
	}, errors.Join(err, agents.Close())
}

// single measures one run of a script that takes long, after short ones.
func single(open scen.Peer, script *scen.Script) (stream.Figures, error) {
	if err := warm(open); err != nil {
		return nil, err
	}
	agents, err := open(script)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = once(agents, script)
	took := time.Since(start)
	return stream.Figures{"s": took.Seconds()}, errors.Join(err, agents.Close())
}

// hang measures children that all wait for their model at once: what each keeps in
// memory, how long it took until all had come there, and from then to the end.
func hang(open scen.Peer, children int) (stream.Figures, error) {
	if err := warm(open); err != nil {
		return nil, err
	}
	gate := scen.NewGate()
	script := &scen.Script{Fan: children, Gate: gate}
	agents, err := open(script)
	if err != nil {
		return nil, err
	}
	before, start := stream.InUse(), time.Now()
	done := make(chan error, 1)
	go func() { done <- once(agents, script) }()
	if err := arrive(gate, int64(children), done); err != nil {
		return nil, errors.Join(err, agents.Close())
	}
	came := time.Since(start)
	each := (stream.InUse() - before) / float64(children)
	start = time.Now()
	gate.Open()
	err = <-done
	ended := time.Since(start)
	return stream.Figures{"kib": each / 1024, "start": ms(came), "end": ms(ended)}, errors.Join(err, agents.Close())
}

// arrive waits until all children of a run have come to the gate. If not all do,
// the gate is open and the run over when it returns.
func arrive(gate *scen.Gate, all int64, done <-chan error) error {
	last, since := int64(0), time.Now()
	for last < all {
		select {
		case err := <-done:
			return errors.Join(fmt.Errorf("the run ended with %d of %d children in their model", gate.In.Load(), all), err)
		case <-time.After(time.Millisecond):
		}
		if in := gate.In.Load(); in > last {
			last, since = in, time.Now()
		} else if time.Since(since) > hangLimit {
			gate.Open()
			return errors.Join(fmt.Errorf("%d of %d children came to their model at once", in, all), <-done)
		}
	}
	return nil
}

func warm(open scen.Peer) error {
	script := &scen.Script{Fan: 2}
	agents, err := open(script)
	if err != nil {
		return err
	}
	for range 20 {
		err = errors.Join(err, once(agents, script))
	}
	return errors.Join(err, agents.Close())
}

func once(agents scen.Agents, script *scen.Script) error {
	return scen.Once(context.Background(), agents, script, &scen.Sink{})
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

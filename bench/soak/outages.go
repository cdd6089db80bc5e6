package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// outages stops the NATS server of two workers for a while, in order or by a kill.
// Sometimes it comes back with another token, which the workers' file gets later.
func outages(r *run) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	server := &node{nodeConfig: nodeConfig{Name: "external", Store: filepath.Join(r.dir, "nats"), Port: ports[0], Token: "token-0"}}
	tokenFile := filepath.Join(r.dir, "nats.token")
	longest := r.either(3*time.Second, 20*time.Second)
	f, err := r.newFleet(shape{words: 15, pause: 20 * time.Millisecond}, "--nats", server.url(), "--nats-token-file", tokenFile)
	if err != nil {
		return err
	}
	admit := func() error { return os.WriteFile(tokenFile, []byte(server.Token+"\n"), 0o600) }
	if err := admit(); err != nil {
		return err
	}
	if err := server.start(); err != nil {
		return err
	}
	r.atEnd(func() { _ = server.halt(false) })
	if err := f.startAll(2); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	wait := f.callers(ctx, 3)
	times, killed, tokens := 0, 0, 0
	var away time.Duration
	for range r.rounds(1, 500*time.Millisecond, 2*time.Second) {
		times++
		kill := r.random.IntN(2) == 0
		if kill {
			killed++
		}
		start := time.Now()
		if err := server.halt(!kill); err != nil {
			return err
		}
		down, late := r.between(0, longest), time.Duration(0)
		if r.random.IntN(3) == 0 {
			tokens++
			server.Token = "token-" + strconv.Itoa(tokens)
			late = r.between(0, longest-down)
		}
		if down+late > storeMargin {
			f.excuse(nil, "failed")
		}
		if !r.pause(down) {
			break
		}
		if err := server.start(); err != nil {
			return err
		}
		r.pause(late)
		if err := admit(); err != nil {
			return err
		}
		if down+late > storeMargin { // those that began meanwhile
			f.excuse(nil, "failed")
		}
		away = max(away, time.Since(start))
	}
	cancel()
	wait()
	r.figure("%d outages of up to %s, %d by a kill, %d with another token", times, away.Round(100*time.Millisecond), killed, tokens)
	f.store = storeAt{url: "nats://" + server.Token + "@127.0.0.1:" + strconv.Itoa(server.Port)}
	return f.audit()
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/internal/tcpline"
)

// cluster has two workers on three NATS servers, which keep everything three times.
// One thing at a time goes wrong: the line to a server is cut without a word, a
// stream gets another leader, or a server is away.
func cluster(r *run) error {
	c, err := r.newNodes()
	if err != nil {
		return err
	}
	f, err := r.newFleet(shape{words: 15, pause: 20 * time.Millisecond}, "--nats", c.lineURLs(), "--replicas", "3")
	if err != nil {
		return err
	}
	if err := f.startAll(2); err != nil {
		return err
	}
	longest := r.either(2*time.Second, 15*time.Second)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	wait := f.callers(ctx, 2)
	done := make(map[string]int)
	kinds := []string{"cuts", "leaders changed", "nodes restarted"}
	for i := range r.rounds(len(kinds), 200*time.Millisecond, time.Second) {
		kind := kinds[r.random.IntN(len(kinds))]
		if i < len(kinds) { // each at least once
			kind = kinds[i]
		}
		which, away := r.random.IntN(len(c.nodes)), r.between(0, longest)
		if away > storeMargin {
			f.excuse(nil, "failed")
		}
		switch kind {
		case "cuts":
			c.lines[which].Cut(nil)
			r.pause(away)
			c.lines[which].Join()
		case "leaders changed":
			if err := c.stepDown(r); err != nil {
				return err
			}
		case "nodes restarted":
			if err := c.nodes[which].halt(r.random.IntN(2) == 0); err != nil {
				return err
			}
			r.pause(away)
			if err := c.nodes[which].start(); err != nil {
				return err
			}
		}
		if err := c.healthy(r); err != nil {
			return err
		}
		if away > storeMargin { // those that began meanwhile
			f.excuse(nil, "failed")
		}
		done[kind]++
	}
	cancel()
	wait()
	r.figure("%s", counts(done))
	f.store = storeAt{url: c.urls()}
	return f.audit()
}

// nodes is three NATS servers, each behind a line.
type nodes struct {
	nodes []*node
	lines []*tcpline.Line
	js    jetstream.JetStream // around the lines
}

func (r *run) newNodes() (*nodes, error) {
	ports, err := freePorts(6)
	if err != nil {
		return nil, err
	}
	c := new(nodes)
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		n := &node{nodeConfig: nodeConfig{Name: name, Store: filepath.Join(r.dir, name), Port: ports[i], ClusterPort: ports[3+i], ClusterPorts: ports[3:]}}
		if err := n.start(); err != nil {
			return nil, err
		}
		r.atEnd(func() { _ = n.halt(false) })
		l, err := tcpline.Listen(fmt.Sprintf("127.0.0.1:%d", n.Port))
		if err != nil {
			return nil, err
		}
		r.atEnd(func() { _ = l.Close() }) // an error: it is closed
		c.nodes, c.lines = append(c.nodes, n), append(c.lines, l)
	}
	conn, err := nats.Connect(c.urls(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	r.atEnd(conn.Close)
	if c.js, err = jetstream.New(conn); err != nil {
		return nil, err
	}
	return c, c.formed(r)
}

// formed waits until the servers know each other: until then they refuse to keep
// anything three times.
func (c *nodes) formed(r *run) error {
	ctx, cancel := r.within(patience)
	defer cancel()
	const name = "FORMED"
	for {
		attempt, stop := context.WithTimeout(ctx, 2*time.Second) // nobody answers without a leader
		_, err := c.js.CreateOrUpdateStream(attempt, jetstream.StreamConfig{Name: name, Replicas: 3})
		if err == nil {
			err = c.js.DeleteStream(attempt, name)
		}
		stop()
		if err == nil {
			return nil
		}
		if !r.pause(100*time.Millisecond) || ctx.Err() != nil {
			return fmt.Errorf("the servers make no cluster within %s: %w", patience, err)
		}
	}
}

func (c *nodes) urls() string {
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, n.url())
	}
	return strings.Join(urls, ",")
}

func (c *nodes) lineURLs() string {
	var urls []string
	for _, l := range c.lines {
		urls = append(urls, "nats://"+l.Addr())
	}
	return strings.Join(urls, ",")
}

// stepDown has the leader of some stream step down.
func (c *nodes) stepDown(r *run) error {
	ctx, cancel := r.within(patience)
	defer cancel()
	var names []string
	for name := range c.js.StreamNames(ctx).Name() {
		names = append(names, name)
	}
	if len(names) == 0 {
		return fmt.Errorf("the servers have no streams: %w", context.Cause(ctx))
	}
	name := names[r.random.IntN(len(names))]
	_, err := c.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+name, nil)
	return err
}

// healthy waits until each stream has a leader, and two others that are up to date:
// only then may the next thing go wrong.
func (c *nodes) healthy(r *run) error {
	ctx, cancel := r.within(patience)
	defer cancel()
	for {
		bad, err := c.unhealthy(ctx)
		if bad == "" && err == nil {
			return nil
		}
		if !r.pause(100*time.Millisecond) || ctx.Err() != nil {
			return fmt.Errorf("the servers do not recover within %s: stream %s, %w", patience, bad, err)
		}
	}
}

func (c *nodes) unhealthy(ctx context.Context) (stream string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	all := c.js.ListStreams(ctx)
	n := 0
	for info := range all.Info() {
		n++
		if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
			stream = info.Config.Name
			continue
		}
		for _, p := range info.Cluster.Replicas {
			if !p.Current || p.Offline {
				stream = info.Config.Name
			}
		}
	}
	if all.Err() == nil && n == 0 {
		return "", fmt.Errorf("there are no streams")
	}
	return stream, all.Err()
}

package main

import (
	"maps"
	"strings"

	"github.com/agentworker/worker/bench/barepeer"
	"github.com/agentworker/worker/bench/einopeer"
	"github.com/agentworker/worker/bench/floor"
	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/bench/stream"
	"github.com/agentworker/worker/bench/workerpeer"
)

// The columns of the table: this project is the last.
const (
	colFloor  = "floor"
	colEino   = "eino"
	colBare   = "bare"
	colWorker = "worker"
)

// colLeast is no column: only -measure ROW/least has it.
const colLeast = "least"

var columns = []string{colFloor, colEino, colBare, colWorker}

// A row is one kind of work, and who does it.
type row struct {
	key      string
	work     string // "#" stands for the number
	n, quick int    // how many of what the row is about, and in a quick run
	figures  []figure
	peers    map[string]measure // by column
	slow     string             // the column that takes so long that it runs in one round
}

// A figure is one line of the table.
type figure struct {
	key, unit string
	rate      bool // more is better
}

// measure does a row's work with n of it.
type measure func(n int) (stream.Figures, error)

var (
	perRun  = []figure{{"ms", "ms", false}, {"cpu", "cpu ms", false}, {"allocs", "allocs", false}}
	perHang = []figure{{"kib", "KiB each", false}, {"start", "start ms", false}, {"end", "end ms", false}}
	seconds = []figure{{"s", "s", false}}
	rate    = []figure{{"rate", "events/s", true}}
	latency = []figure{{"p50", "p50 us", false}, {"p99", "p99 us", false}}
	median  = []figure{{"p50", "p50 us", false}}
	readers = []figure{{"kib", "KiB each", false}, {"us", "us each", false}, {"served", "served", true}}
)

var rows = []row{
	{key: "run1", work: "one child of 3 model calls", figures: perRun,
		peers: stored(func(p scen.Peer, _ int) (stream.Figures, error) { return repeated(p, &scen.Script{Fan: 1}) })},
	{key: "par", work: "# children in one turn", n: 100, quick: 100, figures: perRun,
		peers: stored(func(p scen.Peer, n int) (stream.Figures, error) { return repeated(p, &scen.Script{Fan: n}) })},
	{key: "stream", work: "one child streams # deltas", n: 1000, quick: 1000, figures: perRun,
		peers: stored(func(p scen.Peer, n int) (stream.Figures, error) {
			return repeated(p, &scen.Script{Fan: 1, Deltas: n})
		})},
	{key: "hang", work: "# children hang at once", n: 1000, quick: 100, figures: perHang, peers: agents(hang)},
	{key: "many", work: "# children in one turn", n: 10_000, quick: 1000, figures: seconds, slow: colEino,
		peers: agents(func(p scen.Peer, n int) (stream.Figures, error) { return single(p, &scen.Script{Fan: n}) })},

	{key: "publish", work: "publish # events, one wait", n: 50_000, quick: 5_000, figures: rate,
		peers: ways(func(w stream.Open, n int) (stream.Figures, error) { return stream.Publish(w, n, false) }, stream.Least)},
	{key: "text", work: "publish # deltas, one wait", n: 50_000, quick: 5_000, figures: rate,
		peers: ways(func(w stream.Open, n int) (stream.Figures, error) { return stream.Publish(w, n, true) }, stream.Least)},
	{key: "replay", work: "replay # events", n: 50_000, quick: 5_000, figures: rate, peers: ways(stream.Replay, nil)},
	{key: "latency", work: "publish to follower at 2k/s", n: 4000, quick: 400, figures: latency, peers: ways(stream.Latency, nil)},
	{key: "first", work: "first event of a new session", n: 300, quick: 30, figures: median, peers: ways(stream.First, nil)},
	{key: "followers", work: "# roots, a follower each", n: 5000, quick: 500, figures: readers, peers: ways(stream.Followers, nil)},
}

// peers run agents.
var peers = map[string]scen.Peer{colFloor: floor.Open, colEino: einopeer.Open, colWorker: workerpeer.Open}

// stores store what the worker stores of a run, and run no agents.
var stores = map[string]scen.Peer{colBare: barepeer.Open, colLeast: barepeer.Least}

func agents(run func(p scen.Peer, n int) (stream.Figures, error)) map[string]measure {
	return of(peers, run)
}

// stored is agents, and beside them what the storing alone costs.
func stored(run func(p scen.Peer, n int) (stream.Figures, error)) map[string]measure {
	all := agents(run)
	maps.Copy(all, of(stores, run))
	return all
}

func of(peers map[string]scen.Peer, run func(p scen.Peer, n int) (stream.Figures, error)) map[string]measure {
	all := make(map[string]measure, len(peers))
	for column, p := range peers {
		all[column] = func(n int) (stream.Figures, error) { return run(p, n) }
	}
	return all
}

// ways publish and follow events; least may be nil.
func ways(run func(w stream.Open, n int) (stream.Figures, error), least stream.Open) map[string]measure {
	of := func(w stream.Open) measure { return func(n int) (stream.Figures, error) { return run(w, n) } }
	all := map[string]measure{colBare: of(stream.Bare), colWorker: of(stream.Worker)}
	if least != nil {
		all[colFloor] = of(least)
	}
	return all
}

func (r *row) count(quick bool) int {
	if quick {
		return r.quick
	}
	return r.n
}

// title is the row's work with its number.
func (r *row) title(quick bool) string {
	return strings.ReplaceAll(r.work, "#", thousands(float64(r.count(quick))))
}

// beside is the column that the ratio compares with.
func (r *row) beside() string {
	if _, ok := r.peers[colEino]; ok {
		return colEino
	}
	return colBare
}

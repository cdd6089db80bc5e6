package embedded

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// usualGC is Go's own share of garbage, in percent of what is in use. One that the
	// user has chosen by GOGC stays.
	usualGC = 100

	// allowedGarbage is how much garbage a process that runs a store may have, in bytes,
	// before the share is lowered. The server keeps the subjects of all sessions in
	// memory, some 0.9 KiB for each: their number is not to count twice.
	allowedGarbage = 24 << 20

	// tightGC is the lowest share: a process with 100,000 sessions stays below 150 MB
	// more than with none.
	tightGC = 30

	// gcBudget is the share of a processor's time that collecting may take for that. It does
	// not count what Go does while a processor is idle. With half the share of memory it takes
	// twice as much. Tasks without a pause take 0.02 with the usual one, and 20,000 sessions
	// in the store, and 0.05 with the lowest.
	gcBudget = 0.1

	// memoryInterval is how often the share is set anew.
	memoryInterval = 5 * time.Second

	// muchHistory is a size of the server's indexes, in bytes: about that of 60,000 sessions.
	// From it on, memory that opening them took is given back after the first interval. A
	// command that has ended by then is spared the collection.
	muchHistory = 16 << 20

	// indexInMemory is how many bytes in memory a byte of the indexes becomes.
	indexInMemory = 3
)

// lowestGC is the share of garbage that is aimed at where so many bytes are in use.
func lowestGC(inUse uint64) int {
	return int(min(max(allowedGarbage*100/max(inUse, 1), tightGC), usualGC))
}

// nextGC is the share that keeps to the budget where collecting has taken a part of a
// processor's time with another one.
func nextGC(share int, took float64, inUse uint64) int {
	return min(max(int(float64(share)*took/gcBudget), lowestGC(inUse)), usualGC)
}

// heldMemory bounds the garbage of this process while it runs a store. A nil one does
// nothing.
type heldMemory struct {
	indexes int64 // in bytes, before the server was started
	stop    chan struct{}
	running sync.WaitGroup
}

// holders is how many stores this process runs, which share its garbage: tests run several.
var holders struct {
	sync.Mutex
	count int
}

// holdMemory begins to bound the garbage, before the server of a store in dir is started.
func holdMemory(dir string) *heldMemory {
	m := &heldMemory{stop: make(chan struct{})}
	names, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "index.db")) // its one error is a bad pattern
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			m.indexes += info.Size()
		}
	}
	share := lowestGC(uint64(m.indexes * indexInMemory))
	holders.Lock()
	defer holders.Unlock()
	if before := debug.SetGCPercent(share); holders.count == 0 && before != usualGC {
		debug.SetGCPercent(before)
		return nil
	}
	holders.count++
	m.running.Go(func() { m.adjust(share) })
	return m
}

// adjust sets the share by what is in use, and what collecting takes.
func (m *heldMemory) adjust(share int) {
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	now := []metrics.Sample{ // as of the last collection
		{Name: "/gc/heap/live:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(now)
	for {
		before := now[1].Value.Float64() - now[2].Value.Float64()
		select {
		case <-m.stop:
			return
		case <-tick.C:
		}
		if m.indexes >= muchHistory {
			debug.FreeOSMemory()
			m.indexes = 0
		}
		metrics.Read(now)
		took := (now[1].Value.Float64() - now[2].Value.Float64() - before) / memoryInterval.Seconds()
		if next := nextGC(share, took, now[0].Value.Uint64()); next != share {
			debug.SetGCPercent(next)
			share = next
		}
	}
}

// release ends it.
func (m *heldMemory) release() {
	if m == nil {
		return
	}
	close(m.stop)
	m.running.Wait()
	holders.Lock()
	defer holders.Unlock()
	if holders.count--; holders.count == 0 {
		debug.SetGCPercent(usualGC)
	}
}

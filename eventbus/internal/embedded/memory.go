package embedded

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

const (
	// muchHistory is the size of the server's indexes, in bytes, from which on memory is
	// held back: that of some 50,000 sessions.
	muchHistory = 16 << 20

	// tightGC is how much garbage a process may have then, in percent of what is in use. At
	// the usual 100 one that runs a store of 100,000 sessions takes up to 50 MiB more.
	tightGC = 30
)

// holdMemory bounds the garbage of this process while it runs a store in dir that has much
// history: call it before the server is started, opened once it has read its indexes, and
// done at the end.
func holdMemory(dir string) (opened, done func()) {
	indexes, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "index.db")) // its one error is a bad pattern
	size := int64(0)
	for _, name := range indexes {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	if size < muchHistory {
		return func() {}, func() {}
	}
	usual := debug.SetGCPercent(tightGC)
	if usual < tightGC { // the user has chosen that, or that there is none
		debug.SetGCPercent(usual)
	}
	return debug.FreeOSMemory, func() { debug.SetGCPercent(usual) }
}

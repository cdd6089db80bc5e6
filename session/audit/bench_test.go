package audit_test

import (
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/session/audit"
)

// BenchmarkFlush measures a call that waits for its record. BenchmarkAdd measures a
// record without a waiting call.
func BenchmarkFlush(b *testing.B) {
	l := openLog(b, bustest.Open(b, &eventbus.Options{StoreDir: b.TempDir()}), audit.Options{})
	r := decision(1)
	b.ReportAllocs()
	for b.Loop() {
		add(b, l, r)
	}
}

func BenchmarkAdd(b *testing.B) {
	l := openLog(b, bustest.Open(b, &eventbus.Options{StoreDir: b.TempDir()}), audit.Options{})
	r := decision(1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := l.Add(r); err != nil {
			b.Fatal(err)
		}
		if n++; n%1000 == 0 {
			add(b, l)
		}
	}
}

package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimited: lines that strangers cause are bounded, however they vary them. Other
// lines pass, and the omitted ones are counted.
func TestLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(limitLogs(slog.NewTextHandler(&out, nil))).With("pid", 1)
		for i := range 100_000 {
			log.Error(fmt.Sprintf("127.0.0.1:%d - cid:%d - authentication error", i%60_000, i))
		}
		if got := strings.Count(out.String(), "\n"); got != maxAlike {
			t.Errorf("%d lines of one kind, want %d", got, maxAlike)
		}
		log.Warn("something else")
		for range 1000 {
			log.Info("the worker's own")
		}
		if got := strings.Count(out.String(), "something else") + strings.Count(out.String(), "own"); got != 1001 {
			t.Errorf("%d lines of other kinds, want 1001", got)
		}
		out.Reset()
		<-time.After(limitWindow) // by the bubble's clock
		log.Error("127.0.0.1:1 - cid:1 - authentication error")
		if want := fmt.Sprintf("leftOut=%d", 100_000-maxAlike); !strings.Contains(out.String(), want) {
			t.Errorf("%s, want %s in it", out.String(), want)
		}
		out.Reset()
		for i := range 100_000 {
			log.Error(strings.Repeat("x", i%1000) + fmt.Sprint(i) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)))
		}
		if got := strings.Count(out.String(), "\n"); got > (maxKinds+1)*maxAlike {
			t.Errorf("%d lines of ever new kinds", got)
		}
	})
}

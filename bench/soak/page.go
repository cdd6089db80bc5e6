package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/chromium"
)

// Of the page: how many sessions work, and how many of them an agent has below it.
const (
	pageLeads  = 20
	pageScouts = 10
)

// The bounds of the long form.
const (
	maxMainThread = 0.30    // of the time
	maxHeapGrowth = 1.25    // of the last third of the windows over the one before
	heapSlack     = 4 << 20 // bytes
	minEventRate  = 40      // of a session, stored in a second: less is another measurement
)

// page has 200 sessions stream about 50 events a second each through one worker, and looks
// at what a browser needs for the page that shows them: its main thread, and its memory.
func page(r *run) error {
	// A step is 19 deltas, one each 21 ms, and some 6 other events.
	s := shape{words: 19, pause: 21 * time.Millisecond, steps: 100, scouts: pageScouts, rounds: 900}
	f, err := r.newFleet(s, "--max-children", "1000", "--max-per-parent", "100", "--background-timeout", "24h")
	if err != nil {
		return err
	}
	w, err := f.start()
	if err != nil {
		return err
	}
	browser, stop, err := chromium.Start(r.ctx, filepath.Join(r.dir, "profile"))
	if errors.Is(err, chromium.ErrNone) {
		return notRun(err.Error())
	}
	if err != nil {
		return err
	}
	defer stop()
	tab, closeTab, err := chromium.Tab(browser)
	if err != nil {
		return err
	}
	defer closeTab()
	bus, err := eventbus.Open(r.ctx, workspaceID, &eventbus.Options{StoreDir: f.store.dir})
	if err != nil {
		return err
	}
	defer bus.Close()

	var lead struct{ SessionID string }
	for range pageLeads {
		if err := w.post("/v1/tasks", `{"description":"a look","prompt":"Look.","agentType":"lead","background":true}`, &lead); err != nil {
			return err
		}
	}
	var link struct{ URL string }
	if err := w.post("/v1/page/links", "{}", &link); err != nil {
		return err
	}
	m := &pageMeasurement{run: r, tab: tab, bus: bus, pid: w.cmd.Process.Pid}
	if err := m.open(link.URL, ".dot.running"); err != nil {
		return err
	}
	const parts = 10
	all, err := m.windows("all sessions", parts, r.duration/parts)
	if err != nil {
		return err
	}
	child, err := m.running(w.url, lead.SessionID) // the newest come first
	if err != nil {
		return err
	}
	for _, view := range []struct{ name, path, ready string }{
		{"an agent and its subagents", "/sessions/" + lead.SessionID, ".rows .dot.running"},
		{"a transcript", child, ".calls"},
		{"its timeline", child + "#timeline", ".lane svg"},
		{"a timeline of a tree", "/sessions/" + lead.SessionID + "#timeline", ".lane svg"},
	} {
		if err := m.open(w.url+view.path, view.ready); err != nil {
			return fmt.Errorf("%s: %w", view.name, err)
		}
		if _, err := m.windows(view.name, 1, r.duration/20); err != nil {
			return err
		}
	}
	m.hold(all)
	return nil
}

// hold holds the windows of the long form against the bounds: their events, and the memory
// of one against that of another.
func (m *pageMeasurement) hold(all []pageWindow) {
	third := (len(all) - 1) / 3
	if m.short || third == 0 {
		return
	}
	events := 0.0
	for _, w := range all {
		events += w.events / float64(len(all))
	}
	if events < minEventRate*pageLeads*pageScouts {
		m.broke("only %.0f events a second were stored: the machine is too slow, or too busy", events)
	}
	before, last := averageHeap(all[len(all)-2*third:len(all)-third]), averageHeap(all[len(all)-third:])
	if float64(last) > maxHeapGrowth*float64(before)+heapSlack {
		m.broke("the page's memory grows: %d MiB, then %d MiB", before>>20, last>>20)
	}
}

func averageHeap(windows []pageWindow) (sum int64) {
	for _, w := range windows {
		sum += w.heap / int64(len(windows))
	}
	return sum
}

// post makes a request with the worker's token.
func (w *worker) post(path, body string, into any) error {
	req, err := http.NewRequest("POST", w.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = errors.New(resp.Status)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("POST %s: %w: %.200s", path, err, text)
	}
	return nil
}

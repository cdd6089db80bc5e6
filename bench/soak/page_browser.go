package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/agentworker/worker/eventbus"
)

// pageMeasurement is a tab that shows the page, and what it is measured with.
type pageMeasurement struct {
	*run
	tab context.Context
	bus *eventbus.Bus
	pid int // of the worker
}

// pageWindow is a part of the time.
type pageWindow struct {
	events  float64       // stored in a second
	main    float64       // how much of the time the main thread had a task
	thread  float64       // the same in processor time, which other programs do not add to
	script  float64       // how much of the time scripts ran
	longest time.Duration // of a task since the view was opened
	heap    int64         // bytes of scripts that are in use, after a collection
	nodes   int           // of the document
	worker  float64       // processor time of the worker, as a part of the time
}

// open shows an address, and waits until it has an element.
func (m *pageMeasurement) open(url, selector string) error {
	ctx, stop := context.WithTimeout(m.tab, patience)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return err
	}
	for ctx.Err() == nil && m.ctx.Err() == nil {
		found, err := js[bool](ctx, fmt.Sprintf("document.querySelector(%q) !== null", selector))
		if err == nil && found {
			return nil
		}
		m.pause(100 * time.Millisecond)
	}
	text, err := js[string](m.tab, "document.body.innerText")
	return fmt.Errorf("%s has no %s: %.400s, %v", url, selector, text, err)
}

// running opens the page of a session, and returns the path of one below it that runs.
func (m *pageMeasurement) running(base, id string) (string, error) {
	if err := m.open(base+"/sessions/"+id, ".rows .dot.running"); err != nil {
		return "", err
	}
	return js[string](m.tab, "document.querySelector('.rows .row:has(.dot.running) a.name').getAttribute('href')")
}

func js[T any](ctx context.Context, expression string) (T, error) {
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
}

// longTasks has the page keep the longest time in which its main thread answered nobody.
const longTasks = `(() => {
	globalThis.longest = 0;
	globalThis.observer?.disconnect();
	globalThis.observer = new PerformanceObserver((list) => { for (const e of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, e.duration); });
	globalThis.observer.observe({ entryTypes: ['longtask'] });
	return true;
})()`

// windows measures parts of the time, and prints a line of figures.
func (m *pageMeasurement) windows(name string, n int, each time.Duration) ([]pageWindow, error) {
	if _, err := js[bool](m.tab, longTasks); err != nil {
		return nil, err
	}
	if err := chromedp.Do(m.tab, command(performance.Enable, performance.EnableParams{})); err != nil {
		return nil, err
	}
	var all []pageWindow
	before, err := m.look()
	for err == nil && len(all) < n {
		if !m.pause(each) {
			return nil, m.ctx.Err()
		}
		var now reading
		if now, err = m.look(); err == nil {
			all = append(all, now.since(before))
			before = now
		}
	}
	if err != nil {
		return nil, err
	}
	m.figure("%s:%s", name, pageLines(all))
	for _, w := range all {
		if !m.short && w.main > maxMainThread {
			m.broke("%s: the main thread is busy for %.0f %% of the time", name, 100*w.main)
		}
	}
	return all, nil
}

func pageLines(all []pageWindow) (text string) {
	for _, w := range all {
		text += fmt.Sprintf("\n           %6.0f events/s, main thread %4.1f %% (processor %4.1f %%, scripts %4.1f %%), longest task %3d ms, heap %5.1f MiB, %d nodes, worker %3.0f %%",
			w.events, 100*w.main, 100*w.thread, 100*w.script, w.longest.Milliseconds(), float64(w.heap)/(1<<20), w.nodes, 100*w.worker)
	}
	return text
}

// reading is what counts up.
type reading struct {
	at      time.Time
	metrics map[string]float64
	events  uint64
	worker  time.Duration
	longest time.Duration
}

func (m *pageMeasurement) look() (now reading, err error) {
	result, err := chromedp.Run(m.tab, chromedp.Action[performance.GetMetricsResult](func(ctx context.Context, _ *chromedp.Target) (performance.GetMetricsResult, error) {
		if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			return performance.GetMetricsResult{}, err
		}
		return chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	}))
	if err != nil {
		return now, err
	}
	now = reading{at: time.Now(), metrics: make(map[string]float64)}
	for _, metric := range result.Metrics {
		now.metrics[metric.Name] = metric.Value
	}
	longest, err := js[float64](m.tab, "globalThis.longest")
	if err == nil {
		now.longest = time.Duration(longest * float64(time.Millisecond))
		now.events, err = m.bus.Newest(m.ctx)
	}
	if u, err := usageOf(m.pid); err == nil {
		now.worker = u.cpu
	}
	return now, err
}

func (now reading) since(before reading) pageWindow {
	wall := now.metrics["Timestamp"] - before.metrics["Timestamp"]
	share := func(name string) float64 { return (now.metrics[name] - before.metrics[name]) / wall }
	return pageWindow{
		events: float64(now.events-before.events) / now.at.Sub(before.at).Seconds(),
		main:   share("TaskDuration"), thread: share("ThreadTime"), script: share("ScriptDuration"),
		heap: int64(now.metrics["JSHeapUsedSize"]), nodes: int(now.metrics["Nodes"]),
		worker:  (now.worker - before.worker).Seconds() / wall,
		longest: now.longest,
	}
}

// command is a command of the protocol as a step.
func command[P, R any](cmd cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, cmd, params)
		return err
	})
}

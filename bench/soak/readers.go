package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	slowReaders = 10
	largeEvent  = 900_000
)

// maxPerSlowReader is what one reader that reads nothing may add to the worker, in
// bytes, in the long form: what is held for it, and as much before it is collected.
const maxPerSlowReader = 32 << 20

// readers opens streams of a task with large events and reads nothing from them. Such
// readers must delay nobody, and the worker must hold little for them.
func readers(r *run) error {
	steps := 40
	if r.short {
		steps = 6
	}
	f, err := r.newFleet(shape{words: 1, large: largeEvent, steps: steps})
	if err != nil {
		return err
	}
	w, err := f.start()
	if err != nil {
		return err
	}
	pid := w.cmd.Process.Pid
	if _, err := usageOf(pid); err != nil {
		return notRun("what a process uses is not known here: " + err.Error())
	}
	task := func(begun func(root string)) (took time.Duration, peak int64, err error) {
		c := &call{worker: w}
		f.begin(c)
		defer f.note(c)
		start := time.Now()
		req := request{method: "POST", path: "/v1/tasks", body: lookup, breakAt: -1, begun: func() { begun(c.root) }}
		broken := f.stream(c, w, req)
		f.resume(c)
		if c.document == nil {
			return 0, 0, fmt.Errorf("the task has no result: %w", errors.Join(broken, c.wrong))
		}
		u, err := usageOf(pid)
		return time.Since(start), u.peak, err
	}
	alone, before, err := task(func(string) {})
	if err != nil {
		return err
	}
	beside, after, err := task(func(root string) {
		for range slowReaders {
			conn, openErr := open(w, root)
			if openErr != nil {
				r.broke("%v", openErr)
				continue
			}
			r.atEnd(func() { conn.Close() })
		}
	})
	if err != nil {
		return err
	}
	r.figure("a task with %d events of %.1f MB took %.1f s alone and %.1f s beside %d readers that read nothing",
		6*steps, largeEvent/1e6, alone.Seconds(), beside.Seconds(), slowReaders)
	r.figure("at most %d MiB resident before and %d with them", before>>20, after>>20)
	if grown := after - before; !r.short && grown > slowReaders*maxPerSlowReader {
		r.broke("the readers cost %d MiB, more than %d", grown>>20, slowReaders*maxPerSlowReader>>20)
	}
	return f.audit()
}

// open asks for a session's stream, and reads nothing of the answer.
func open(w *worker, root string) (net.Conn, error) {
	at, err := url.Parse(w.url)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest("GET", w.url+"/v1/sessions/"+root+"/events", nil)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+w.token)
		err = req.Write(conn)
	}
	return conn, err
}

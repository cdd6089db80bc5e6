package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// Update is what has changed since the one before.
type Update struct {
	Reset     bool    `json:"reset,omitempty"` // it is all there is: what the page had is to go
	Rows      []*Row  `json:"rows,omitempty"`
	Approvals *[]Card `json:"approvals,omitempty"` // all that wait; nil means they are as they were
	Agents    uint64  `json:"agents,omitempty"`    // a number that is a different one once agents have changed; 0 means they are as they were
}

// heartbeat is how often something is sent where nothing changes.
const heartbeat = 15 * time.Second

// events answers with the changes of all sessions, as server-sent events. A new browser gets
// everything at once, and one that comes back what it lacks. Changes follow at most once in a
// [beat].
func (h *hub) events(w http.ResponseWriter, r *http.Request) {
	defer h.leave()
	if err := h.enter(r.Context()); err != nil {
		h.fail(w, err)
		return
	}
	if caller.IdentityOf(r.Context()).May(caller.Approve) {
		leave, err := h.door.Enter("the page at " + r.Host)
		if err != nil {
			h.log.Warn("telling other processes that somebody may answer", "err", err)
		}
		defer leave()
	}
	setHeaders(w)
	out := http.NewResponseController(w)
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		h.log.Debug("a browser has gone", "err", err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	write := func(text string) error {
		err := out.SetWriteDeadline(time.Now().Add(writeTimeout))
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err == nil {
			err = out.Flush()
		}
		return err
	}
	var epoch, seen uint64
	last := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last"))
	if _, err := fmt.Sscanf(last, "%d-%d", &epoch, &seen); err != nil {
		epoch, seen = 0, 0 // it begins
	}
	if err := h.send(r.Context(), epoch, seen, write); err != nil {
		h.log.Debug("a browser has gone", "err", err)
	}
}

// send sends updates until ctx ends, the hub's run does, or write fails.
func (h *hub) send(ctx context.Context, epoch, seen uint64, write func(string) error) error {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	for first := true; ; first = false {
		u, now, changed := h.since(epoch, seen)
		if changed == nil {
			return nil // the browser comes back, and begins anew
		}
		if first || now.revision != seen {
			data, err := caller.JSON(u)
			if err != nil {
				return err
			}
			if err := write(fmt.Sprintf("id: %d-%d\nevent: update\ndata: %s\n\n", now.epoch, now.revision, data)); err != nil {
				return err
			}
		}
		epoch, seen = now.epoch, now.revision
		pause := time.NewTimer(beat)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
		for waiting := true; waiting; {
			select {
			case <-changed:
				waiting = false
			case <-alive.C:
				if err := write(":\n\n"); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// position is where a browser is in what the hub has told.
type position struct{ epoch, revision uint64 }

// since returns what has changed since a position, where the hub is, and what is closed
// with the next change. changed nil: the run is over.
func (h *hub) since(epoch, seen uint64) (u Update, now position, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		return u, now, nil
	}
	if epoch != h.epoch {
		seen = 0
	}
	if u = h.rows.since(seen); u.Agents > 0 {
		u.Agents += h.epoch
	}
	return u, position{h.epoch, h.rows.revision}, h.changed
}

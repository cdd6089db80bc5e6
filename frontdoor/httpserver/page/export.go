package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

// export answers with a session as a file: its transcript as Markdown, or all events as
// lines of JSON in the form of "worker events --json".
func (p *Page) export(w http.ResponseWriter, r *http.Request) {
	rec, err := p.record(r.Context(), r.PathValue("id"))
	if err != nil {
		p.fail(w, err)
		return
	}
	setHeaders(w)
	header := w.Header()
	switch format := r.URL.Query().Get("format"); format {
	case "md":
		messages, err := p.opts.Sessions.Messages(r.Context(), rec.ID)
		if err != nil {
			p.fail(w, err)
			return
		}
		header.Set("Content-Type", "text/markdown; charset=utf-8")
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.md"`)
		p.write(w, http.StatusOK, []byte(store.Markdown(rec, messages)))
	case "jsonl":
		header.Set("Content-Type", "application/jsonl")
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.jsonl"`)
		if err := p.writeEvents(w, r, rec); err != nil {
			p.log.Debug("exporting a session", "session", rec.ID, "err", err)
			panic(http.ErrAbortHandler) // the browser sees that the file is not whole
		}
	default:
		p.fail(w, caller.BadRequest(fmt.Errorf("format=%.20q is neither \"md\" nor \"jsonl\"", format)))
	}
}

// writeEvents writes the stored events of a session, piece by piece.
func (p *Page) writeEvents(w http.ResponseWriter, r *http.Request, rec *store.Record) error {
	out := http.NewResponseController(w)
	for d, err := range p.opts.Bus.Follow(r.Context(), rec.Path, nil) {
		if err != nil {
			return err
		}
		line, err := eventLine(d)
		if err == nil {
			err = out.SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eventLine is an event in a line, with its sequence number and time.
func eventLine(d eventbus.Delivery) ([]byte, error) {
	at, err := json.Marshal(d.Time.UTC())
	if err != nil {
		return nil, err
	}
	line := append(bytes.Clone(bytes.TrimSuffix(d.Raw, []byte("}"))), `,"seq":`...) // others read the event, too
	line = strconv.AppendUint(line, d.Seq, 10)
	line = append(append(line, `,"time":`...), at...)
	return append(line, "}\n"...), nil
}

package httpserver

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
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	rec, err := s.record(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	header := w.Header()
	switch format := r.URL.Query().Get("format"); format {
	case "md":
		messages, err := s.sessions.Messages(r.Context(), rec.ID)
		if err != nil {
			s.fail(w, err)
			return
		}
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.md"`)
		s.write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(store.Markdown(rec, messages)))
	case "jsonl":
		header.Set("Content-Type", "application/jsonl")
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.jsonl"`)
		if err := s.writeEvents(w, r, rec); err != nil {
			s.log.Debug("exporting a session", "session", rec.ID, "err", err)
			panic(http.ErrAbortHandler) // the client sees that the file is not whole
		}
	default:
		s.fail(w, caller.BadRequest(fmt.Errorf("format=%.20q is neither \"md\" nor \"jsonl\"", format)))
	}
}

// writeEvents writes the stored events of a session, piece by piece.
func (s *Server) writeEvents(w http.ResponseWriter, r *http.Request, rec *store.Record) error {
	out := http.NewResponseController(w)
	for d, err := range s.bus.Follow(r.Context(), rec.Path, nil) {
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

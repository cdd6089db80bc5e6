package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/transcript"
	"github.com/agentworker/worker/taskt/upkeep"
)

// sessionAPI serves what is stored of sessions, and what is done with them.
type sessionAPI struct {
	*Options
	deleted func(sessionID string) // called with each session that is deleted
}

// defaultPage is how many sessions a page has unless its caller asks for another
// number.
const defaultPage = 100

// list answers with a page of the list of sessions.
func (s sessionAPI) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := limitOf(query, defaultPage)
	if err != nil {
		return err
	}
	page, err := s.Sessions.Index.Page(r.Context(), index.ListOptions{Limit: limit, Cursor: query.Get("cursor"), Nested: query.Get("all") == "true"})
	if errors.Is(err, index.ErrCursor) {
		err = caller.BadRequest(err)
	}
	if err != nil {
		return err
	}
	return answerTagged(w, r, struct {
		Sessions   []*record.Record `json:"sessions"`
		NextCursor string           `json:"nextCursor,omitempty"`
	}{page.Sessions, page.Next})
}

// show answers with a session's record and messages.
func (s sessionAPI) show(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.record(r)
	if err != nil {
		return err
	}
	messages, err := s.Sessions.Transcripts.Messages(r.Context(), rec.ID)
	if err != nil {
		return err
	}
	return answerTagged(w, r, struct {
		*record.Record
		Messages []*log.Message `json:"messages"`
	}{rec, append([]*log.Message{}, messages...)})
}

// stop ends a session and all below it, and answers with its record.
func (s sessionAPI) stop(w http.ResponseWriter, r *http.Request) error {
	record, err := s.record(r)
	if err == nil {
		record, err = s.Sessions.Recovery.Stop(r.Context(), record.ID, by(r))
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, record)
}

// stopCommand stops a command in the background of a session, and answers with the session's record.
func (s sessionAPI) stopCommand(w http.ResponseWriter, r *http.Request) error {
	record, err := s.record(r)
	if err == nil {
		record, err = s.Sessions.Requests.StopCommand(r.Context(), record.ID, r.PathValue("command"), by(r))
	}
	if err != nil {
		return err
	}
	s.Logger.Info("stopped a command of a session", "command", r.PathValue("command"), "session", record.ID, "by", by(r))
	return answer(w, http.StatusOK, record)
}

// record returns the record of the session that the address names in full.
func (s sessionAPI) record(r *http.Request) (*record.Record, error) {
	id := r.PathValue("id")
	rec, err := s.Sessions.Index.Get(r.Context(), id)
	if errors.Is(err, record.ErrAmbiguous) || err == nil && rec.ID != id {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	return rec, err
}

// upkeep returns the handler of an operation on a session that has ended.
func (s sessionAPI) upkeep(op *upkeep.Operation) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil { // it may take long
			return err
		}
		done, err := op.Do(r.Context(), s.Upkeep, r.PathValue("id"))
		if err != nil {
			return err
		}
		if deleted, ok := done.(*upkeep.Deleted); ok {
			s.deleted(deleted.SessionID)
		}
		s.Logger.Info("done with a session", "operation", op.Name, "session", r.PathValue("id"), "by", by(r))
		return answer(w, http.StatusOK, done)
	}
}

// export answers with a session as a file: its transcript as Markdown, or all events as
// lines of JSON in the form of "worker events --json".
func (s sessionAPI) export(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.record(r)
	if err != nil {
		return err
	}
	header := w.Header()
	switch format := r.URL.Query().Get("format"); format {
	case "md":
		messages, err := s.Sessions.Transcripts.Messages(r.Context(), rec.ID)
		if err != nil {
			return err
		}
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.md"`)
		return write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(transcript.Markdown(rec, messages)))
	case "jsonl":
		header.Set("Content-Type", "application/jsonl")
		header.Set("Content-Disposition", `attachment; filename="`+rec.ID+`.jsonl"`)
		if err := s.writeEvents(w, r, rec); err != nil {
			s.Logger.Debug("exporting a session", "session", rec.ID, "err", err)
			panic(http.ErrAbortHandler) // the client sees that the file is not complete
		}
		return nil
	default:
		return caller.BadRequest(fmt.Errorf("format=%.20q is neither \"md\" nor \"jsonl\"", format))
	}
}

// writeEvents writes the stored events of a session, piece by piece.
func (s sessionAPI) writeEvents(w http.ResponseWriter, r *http.Request, rec *record.Record) error {
	out := http.NewResponseController(w)
	for d, err := range s.Bus.Follow(r.Context(), rec.Path, nil) {
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

package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/retention"
)

// Bounds of an answer.
const (
	maxDiffed  = 1 << 20   // of a file, before and after, in bytes
	maxDiff    = 100 << 10 // of a difference, in bytes
	maxDiffs   = 4 << 20   // of all differences, in bytes
	maxChanged = 500       // files that are undone, and as many that are not
)

// changedFile is a file that a session has changed.
type changedFile struct {
	Path     string `json:"path"`
	Now      string `json:"now"`                // the SHA-256 of what it is; empty means there is no such file
	Diff     string `json:"diff,omitempty"`     // empty means that it is not shown
	Undone   bool   `json:"undone,omitempty"`   // it is what it was
	Conflict string `json:"conflict,omitempty"` // why undoing would lose a change of somebody else
	Why      string `json:"why,omitempty"`      // it can't be undone
}

// changed shows a file, with its difference if that has no more bytes than room.
func changed(k snapshot.Kept, room int) (changedFile, snapshot.File) {
	f, err := k.File()
	if err != nil {
		return changedFile{Path: k.Path, Why: cause(err)}, f
	}
	c := changedFile{Path: f.Path, Undone: f.Undone(), Conflict: f.Conflict}
	if f.Now != nil {
		c.Now = snapshot.Hash(f.Now)
	}
	before, after := string(f.Before), string(f.Now)
	if room > 0 && !c.Undone && len(before)+len(after) <= maxDiffed && utf8.ValidString(before+after) && !strings.ContainsRune(before+after, 0) {
		if diff := termtext.Printable(udiff.Unified("before", "now", before, after)); len(diff) <= min(room, maxDiff) {
			c.Diff = diff
		}
	}
	return c, f
}

func cause(err error) string { return termtext.OneLine(errtext.Of(err), termtext.MaxCause) }

// changes answers with what the file tools of a session have changed.
func (s sessionAPI) changes(w http.ResponseWriter, r *http.Request) error {
	record, err := s.record(r)
	if err != nil {
		return err
	}
	kept, err := s.Snapshots.Kept(record.ID, -1, nil)
	if err != nil {
		return err
	}
	found := []changedFile{}
	room, undone, open := maxDiffs, 0, 0
	for _, k := range kept {
		if err := r.Context().Err(); err != nil {
			return err
		}
		if open == maxChanged {
			break
		}
		f, _ := changed(k, room)
		n := &open
		if f.Undone {
			n = &undone
		}
		if *n < maxChanged {
			*n++
			room -= len(f.Diff)
			found = append(found, f)
		}
	}
	return answer(w, http.StatusOK, struct {
		SessionID string        `json:"sessionId"`
		Files     []changedFile `json:"files"`
		Omitted   int           `json:"omitted,omitempty"` // further files
		Untold    int           `json:"untold,omitempty"`  // calls that may have changed files of which nothing is kept
	}{record.ID, found, len(kept) - len(found), record.Work.Untold})
}

// revertInput names the files that a client wants undone, with the hashes that it was shown.
type revertInput struct {
	Files []struct {
		Path string `json:"path"`
		Now  string `json:"now"`
	} `json:"files"`
	Force bool `json:"force,omitempty"`
}

// reverted is how a session's changes were undone.
type reverted struct {
	SessionID string         `json:"sessionId"`
	Status    string         `json:"status"` // undone or conflicts
	Files     []string       `json:"files"`  // undone; with conflicts: undone, and could not be put back
	Conflicts []fileConflict `json:"conflicts,omitempty"`
}

type fileConflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ended returns the record of a session that has ended.
func (s sessionAPI) ended(r *http.Request) (*record.Record, error) {
	rec, err := s.record(r)
	if err == nil && !rec.Status.Ended() {
		err = fmt.Errorf("session %s is %s: %w", rec.ID, rec.Status, retention.ErrRunning)
	}
	return rec, err
}

// revert makes files what they were before a session that has ended. With a conflict nothing changes, unless a
// file can't be put back.
func (s sessionAPI) revert(w http.ResponseWriter, r *http.Request) error {
	record, err := s.ended(r)
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var in revertInput
	if err := strictjson.Decode(body, &in); err != nil {
		return caller.BadRequest(err)
	}
	seen := map[string]string{}
	var names []string
	for _, f := range in.Files {
		seen[f.Path] = f.Now
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return caller.BadRequest(errors.New("files is missing: name those to undo, as the changes of the session show them"))
	}
	kept, err := s.Snapshots.Kept(record.ID, -1, names)
	if errors.Is(err, snapshot.ErrNotChanged) {
		return caller.BadRequest(err)
	}
	if err != nil {
		return err
	}
	done := reverted{SessionID: record.ID, Status: "undone", Files: []string{}}
	var files []snapshot.File
	for _, k := range kept {
		if err := r.Context().Err(); err != nil {
			return err
		}
		f, file := changed(k, 0)
		switch {
		case f.Why != "":
			done.Conflicts = append(done.Conflicts, fileConflict{f.Path, f.Why})
		case f.Now != seen[f.Path]:
			done.Conflicts = append(done.Conflicts, fileConflict{f.Path, "it has changed since it was shown"})
		case f.Conflict != "" && !in.Force:
			done.Conflicts = append(done.Conflicts, fileConflict{f.Path, f.Conflict})
		}
		done.Files, files = append(done.Files, f.Path), append(files, file)
	}
	if len(done.Conflicts) > 0 {
		done.Status, done.Files = "conflicts", []string{}
		return answer(w, http.StatusOK, done)
	}
	if _, err := s.ended(r); err != nil { // it may go on by now
		return err
	}
	var failed *snapshot.RestoreError
	if err := snapshot.Revert(files, in.Force); errors.As(err, &failed) {
		s.Logger.Warn("undoing what a session has changed in files", "session", record.ID, "err", err)
		done.Status, done.Files = "conflicts", append([]string{}, failed.Undone...)
		done.Conflicts = []fileConflict{{failed.Path, cause(failed.Err)}}
		return answer(w, http.StatusOK, done)
	} else if err != nil {
		return err
	}
	s.Logger.Info("undid what a session has changed in files", "session", record.ID, "files", len(done.Files), "by", by(r))
	return answer(w, http.StatusOK, done)
}

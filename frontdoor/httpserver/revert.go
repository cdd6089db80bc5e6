package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/retention"
)

// Bounds of the differences of an answer.
const (
	maxDiffed = 1 << 20   // of a file, before and after, in bytes
	maxDiff   = 100 << 10 // of a difference, in bytes
)

// changedFile is a file that a session has changed.
type changedFile struct {
	Path     string `json:"path"`
	Now      string `json:"now"`                // the SHA-256 of what it is; empty means there is no such file
	Diff     string `json:"diff,omitempty"`     // empty means that it is not shown
	Undone   bool   `json:"undone,omitempty"`   // it is what it was
	Conflict string `json:"conflict,omitempty"` // why undoing would lose a change of somebody else
}

func changed(f *snapshot.File) changedFile {
	c := changedFile{Path: f.Path, Undone: f.Undone(), Conflict: f.Conflict}
	if f.Now != nil {
		c.Now = snapshot.Hash(f.Now)
	}
	before, after := string(f.Before), string(f.Now)
	if !c.Undone && len(before)+len(after) <= maxDiffed && utf8.ValidString(before+after) && !strings.ContainsRune(before+after, 0) {
		if diff := termtext.Printable(udiff.Unified("before", "now", before, after)); len(diff) <= maxDiff {
			c.Diff = diff
		}
	}
	return c
}

// changes answers with what the file tools of a session have changed.
func (s sessionAPI) changes(w http.ResponseWriter, r *http.Request) error {
	record, err := s.record(r)
	if err != nil {
		return err
	}
	files, err := s.Snapshots.Files(record.ID, -1, nil)
	if err != nil {
		return err
	}
	found := []changedFile{}
	for i := range files {
		found = append(found, changed(&files[i]))
	}
	return answer(w, http.StatusOK, struct {
		SessionID string        `json:"sessionId"`
		Files     []changedFile `json:"files"`
		Untold    int           `json:"untold,omitempty"` // calls that may have changed files of which nothing is kept
	}{record.ID, found, record.Work.Untold})
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
	Files     []string       `json:"files"`  // that are what they were
	Conflicts []fileConflict `json:"conflicts,omitempty"`
}

type fileConflict struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// revert makes files what they were before a session that has ended. With a conflict nothing changes.
func (s sessionAPI) revert(w http.ResponseWriter, r *http.Request) error {
	record, err := s.record(r)
	if err != nil {
		return err
	}
	if !record.Status.Ended() {
		return fmt.Errorf("session %s is %s: %w", record.ID, record.Status, retention.ErrRunning)
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
	files, err := s.Snapshots.Files(record.ID, -1, names)
	if err != nil {
		return caller.BadRequest(err)
	}
	done := reverted{SessionID: record.ID, Status: "undone", Files: []string{}}
	for i := range files {
		f := changed(&files[i])
		switch {
		case f.Now != seen[f.Path]:
			done.Conflicts = append(done.Conflicts, fileConflict{f.Path, "it has changed since it was shown"})
		case f.Conflict != "" && !in.Force:
			done.Conflicts = append(done.Conflicts, fileConflict{f.Path, f.Conflict})
		}
		done.Files = append(done.Files, f.Path)
	}
	if len(done.Conflicts) > 0 {
		done.Status, done.Files = "conflicts", []string{}
		return answer(w, http.StatusOK, done)
	}
	if err := snapshot.Revert(files, in.Force); err != nil {
		return err
	}
	s.Logger.Info("undid what a session has changed in files", "session", record.ID, "files", len(done.Files), "by", by(r))
	return answer(w, http.StatusOK, done)
}

package storefiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
)

// LossesFile is the file with what was found to be missing in a store. Everyone
// who opens the store hears of it until the file is removed.
const LossesFile = "losses.json"

// Loss is a range of messages that are missing in a stream because files of the
// store were damaged. Some of it may have been deleted before.
type Loss struct {
	Stream string    `json:"stream"`
	First  uint64    `json:"first"` // sequence number
	Last   uint64    `json:"last"`
	Cause  string    `json:"cause"`
	Found  time.Time `json:"found"`

	// After and Before are when the messages around the range were stored. Zero:
	// there is none.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
}

func (l Loss) String() string {
	what := fmt.Sprintf("messages %d to %d of %s are lost (%d at most)", l.First, l.Last, l.Stream, l.Last-l.First+1)
	if l.First == l.Last {
		what = fmt.Sprintf("message %d of %s is lost", l.First, l.Stream)
	}
	return fmt.Sprintf("%s: %s (found %s)", what, l.Cause, l.Found.Local().Format("2006-01-02 15:04"))
}

// same reports whether two losses are the same one.
func (l Loss) same(other Loss) bool {
	return l.Stream == other.Stream && l.First == other.First && l.Last == other.Last
}

// Losses returns what is known to be missing in the store in dir.
func Losses(dir string) ([]Loss, error) {
	data, err := os.ReadFile(filepath.Join(dir, LossesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var losses []Loss
	if err == nil {
		err = json.Unmarshal(data, &losses)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the event store has lost, in %s (remove it if it can't be read; 'worker doctor --full' looks anew): %w", filepath.Join(dir, LossesFile), err)
	}
	return losses, nil
}

// addLosses adds to what is known to be missing in the store in dir.
func addLosses(dir string, found []Loss) error {
	known, err := Losses(dir)
	if err != nil {
		known = nil // what is new matters more
	}
	for _, l := range found {
		if !slices.ContainsFunc(known, l.same) {
			known = append(known, l)
		}
	}
	return writeLosses(dir, known)
}

func writeLosses(dir string, losses []Loss) error {
	data, err := json.MarshalIndent(losses, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, LossesFile), data, 0o600)
}

// Acknowledge forgets what a stream of the store in dir has lost.
func Acknowledge(dir, stream string) error {
	known, err := Losses(dir)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(known), func(l Loss) bool { return l.Stream == stream })
	switch len(left) {
	case len(known):
		return nil
	case 0:
		return os.Remove(filepath.Join(dir, LossesFile))
	default:
		return writeLosses(dir, left)
	}
}

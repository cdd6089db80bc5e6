package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
)

// lossesFile is the file with what was found to be missing in a store. Everyone
// who opens the store is told, until the file is removed.
const lossesFile = "losses.json"

// Loss is a range of messages that are missing in a stream because files of the
// store were damaged. Some of it may have been deleted before.
type Loss struct {
	Stream string    `json:"stream"`
	First  uint64    `json:"first"` // sequence number
	Last   uint64    `json:"last"`
	Cause  string    `json:"cause"`
	Found  time.Time `json:"found"`
}

func (l Loss) String() string {
	return fmt.Sprintf("messages %d to %d of %s are lost: %s (found %s)", l.First, l.Last, l.Stream, l.Cause, l.Found.Local().Format("2006-01-02 15:04"))
}

// readLosses returns what is known to be missing in the store in dir.
func readLosses(dir string) ([]Loss, error) {
	data, err := os.ReadFile(filepath.Join(dir, lossesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var losses []Loss
	if err == nil {
		err = json.Unmarshal(data, &losses)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the event store has lost: %w", err)
	}
	return losses, nil
}

// findLosses compares the store in dir with what it was when it was closed, and
// writes down what is missing.
func findLosses(dir string) error {
	found, err := checkBlocks(dir)
	if err == nil && len(found) > 0 {
		var known []Loss
		if known, err = readLosses(dir); err != nil {
			known = nil // what is new matters more
		}
		for i := range found {
			found[i].Found = time.Now()
		}
		var data []byte
		if data, err = json.MarshalIndent(append(known, found...), "", "\t"); err == nil {
			err = atomicfile.Write(filepath.Join(dir, lossesFile), data, 0o600)
		}
	}
	if removed := os.Remove(filepath.Join(dir, blocksFile)); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

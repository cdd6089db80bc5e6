package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// record is what is used of a session's record.
type record struct {
	ID, Status, Error string
	Closed            bool
}

// records returns the records of all sessions, once all are closed.
func (f *fleet) records() (map[string]record, error) {
	deadline := time.Now().Add(patience)
	for {
		list, err := f.listed()
		if err != nil {
			return nil, err
		}
		all := make(map[string]record)
		var open []string
		for _, r := range list {
			all[r.ID] = r
			if !r.Closed {
				open = append(open, r.ID)
			}
		}
		switch {
		case len(open) == 0:
			return all, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%d sessions have not ended within %s, %s among them", len(open), patience, open[0])
		case !f.pause(time.Second):
			return nil, f.ctx.Err()
		}
	}
}

// listed returns what the command lists, page by page.
func (f *fleet) listed() ([]record, error) {
	var all []record
	args := []string{"sessions", "list", "--all", "--json", "--limit", "1000"}
	for cursor := []string(nil); ; {
		text, said, err := f.output(slices.Concat(args, cursor)...)
		if err != nil {
			return nil, err
		}
		var page []record
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			return nil, fmt.Errorf("worker sessions list: %w", err)
		}
		all = append(all, page...)
		_, rest, more := strings.Cut(said, "there are more: --cursor ")
		if !more {
			return all, nil
		}
		next, _, _ := strings.Cut(rest, "\n")
		cursor = []string{"--cursor", next}
	}
}

// doctor waits until the worker finds nothing wrong with the store: its index is
// written behind the sessions.
func (f *fleet) doctor() {
	for deadline := time.Now().Add(patience); ; {
		_, _, err := f.output("doctor", "--full")
		if err == nil {
			return
		}
		if time.Now().After(deadline) || !f.pause(time.Second) {
			f.broke("%v", err)
			return
		}
	}
}

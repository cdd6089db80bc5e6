package store

import (
	"context"
	"time"
)

// Holders returns the sessions that have not ended and whose resident file is the one
// of this name, but for the one of an id. It is asked for in the index, when the
// records of this process are stored.
func (s *Store) Holders(ctx context.Context, resident, except string) ([]*Record, error) {
	var holders []*Record
	for o := (ListOptions{Since: time.Now()}); ; {
		page, err := s.Page(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Sessions {
			if r.Resident == resident && r.ID != except && !r.Status.Ended() {
				holders = append(holders, r)
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return holders, nil
		}
	}
}

package retention

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// cleanupToken begins the keys of sessions that their callers want deleted, with those
// below them, once the results were delivered: see [Retention.CleanUp]. Until then each has
// a key in the bucket of records:
//
//	<workspace>.cleanup.<root>[.<child>…]
const cleanupToken = "cleanup."

// cleanedToken begins the keys that keep what a deleted session has used. It still counts
// in the budgets of the sessions above. Such a key is stored before anything is deleted,
// and goes with the root. A session may resume another one, and share its budget. Then it
// has a further key, below that session. A resumed session may be made again with the same
// id; the time of its opening tells the two apart.
//
//	<workspace>.cleaned.<root>[.<child>…]=<nanoseconds>
const cleanedToken = "cleaned."

// below returns the keys with a token, each as the ids from the root down. ids lead to a
// session, and only keys below it are returned; empty means all.
func (ret *Retention) below(ctx context.Context, token, ids string) ([]string, error) {
	filter := token + ">"
	if ids != "" {
		filter = token + ids + ".>"
	}
	found, err := ret.index.Keys(ctx, ret.index.Stream(), ret.index.KV(), filter)
	if err != nil {
		return nil, fmt.Errorf("looking for sessions to delete: %w", err)
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, strings.TrimPrefix(key, ret.index.Key(token)))
	}
	slices.Sort(keys)
	return keys, nil
}

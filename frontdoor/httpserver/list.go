package httpserver

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/index"
)

// limitOf returns how many entries a page of a list is to have: what the query says,
// or else.
func limitOf(query url.Values, otherwise int) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > index.MaxPage {
		return 0, caller.BadRequest(fmt.Errorf("limit=%.20s: a page has 1 to %d entries", text, index.MaxPage))
	}
	return n, nil
}

// part returns the page of a list that a query asks for, and the cursor of the next one,
// which is empty at the end. The list is in the order of its keys. A cursor is the key of
// the last entry before the page, whether or not that is still there.
func part[T any](query url.Values, all []T, key func(T) string) (page []T, next string, err error) {
	limit, err := limitOf(query, index.MaxPage)
	if err != nil {
		return nil, "", err
	}
	first := 0
	if cursor := query.Get("cursor"); cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return nil, "", caller.BadRequest(index.ErrCursor)
		}
		var found bool
		if first, found = slices.BinarySearchFunc(all, string(last), func(e T, k string) int { return strings.Compare(key(e), k) }); found {
			first++
		}
	}
	page = append([]T{}, all[first:]...)
	if len(page) > limit {
		page = page[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(key(page[limit-1])))
	}
	return page, next, nil
}

package record

import (
	"slices"
	"strconv"
	"strings"
)

// parseRun returns the id of the first run of a session, and which run an id is of.
func parseID(id string) (first string, run int) {
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		if n, err := strconv.Atoi(id[i+1:]); err == nil && n > 1 && id[i+1] != '0' {
			return id[:i], n
		}
	}
	return id, 1
}

// NextRun returns the id of the session that goes on with the conversation of
// another one, once that has ended.
func ResumedID(id string) string {
	first, run := parseID(id)
	return first + "-" + strconv.Itoa(run+1)
}

// FirstRun returns the id of the first run of a session.
func OriginalID(id string) string {
	first, _ := parseID(id)
	return first
}

// SameRuns reports whether the sessions of two ids are runs of the same one.
func SameConversation(a, b string) bool {
	a, _ = parseID(a)
	b, _ = parseID(b)
	return a == b
}

// newestRuns returns the ids that begin with start or, where they are runs of one
// session, the newest of them.
func Newest(ids []string, start string) []string {
	if slices.Contains(ids, start) {
		return ids
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, start) })
	if len(found) < 2 || slices.ContainsFunc(found, func(id string) bool { return !SameConversation(id, found[0]) }) {
		return ids
	}
	return []string{slices.MaxFunc(found, func(a, b string) int {
		_, m := parseID(a)
		_, n := parseID(b)
		return m - n
	})}
}

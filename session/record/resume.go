package record

import (
	"slices"
	"strconv"
	"strings"
)

// parseID returns the id of the original session, and the number of the id in its
// conversation.
func parseID(id string) (first string, run int) {
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		if n, err := strconv.Atoi(id[i+1:]); err == nil && n > 1 && id[i+1] != '0' {
			return id[:i], n
		}
	}
	return id, 1
}

// ResumedID returns the id of the session that resumes an ended one.
func ResumedID(id string) string {
	first, run := parseID(id)
	return first + "-" + strconv.Itoa(run+1)
}

// OriginalID returns the id of the first session of a conversation.
func OriginalID(id string) string {
	first, _ := parseID(id)
	return first
}

// SameConversation reports whether the sessions of two ids share a conversation by
// resumption.
func SameConversation(a, b string) bool {
	a, _ = parseID(a)
	b, _ = parseID(b)
	return a == b
}

// Newest returns only the newest id, if all ids that begin with start are of one
// conversation. Otherwise, and if start itself is an id, it returns ids.
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

// Package suggest finds, among known names, the one that a mistyped name was
// meant to be.
package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns ` (did you mean "NAME"?)` with the name that was probably
// meant, or "" if no name is near.
func DidYouMean(given string, names []string) string {
	if near := Nearest(given, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// Nearest returns the name that takes the fewest changes to make of given: at
// most a third of its length. Of equals it returns the first in the alphabet.
func Nearest(given string, names []string) string {
	given = strings.ToLower(given)
	best, fewest := "", max(1, len([]rune(given))/3)+1
	for _, name := range slices.SortedFunc(slices.Values(names), cmp.Compare[string]) {
		lower := strings.ToLower(name)
		changes := distance(given, lower)
		if len(given) > 2 && strings.HasPrefix(lower, given) {
			changes = min(changes, 1)
		}
		if changes < fewest && name != "" {
			best, fewest = name, changes
		}
	}
	return best
}

// distance counts the letters to insert, remove, replace or swap with the next
// one to make b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	if len(from) > 100 || len(to) > 100 {
		return 100
	}
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			replace := rows[i-1][j-1]
			if from[i-1] != to[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}

// Package spelling compares the names of fields and tools as people write and
// mistype them.
package spelling

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Canonical returns a field's name without capitals, "-", "_", accents, and
// invisible characters such as a byte order mark or a zero-width space.
func Canonical(name string) string {
	if !IsASCII(name) {
		name = norm.NFKD.String(name)
	}
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// LooksLike reports whether letters are those of look, except for some that are
// not ASCII: at least one, at most half.
func LooksLike(letters []rune, look string) bool {
	if len(letters) != len(look) {
		return false
	}
	foreign := 0
	for i, r := range letters {
		switch {
		case r > unicode.MaxASCII:
			foreign++
		case r != rune(look[i]):
			return false
		}
	}
	return foreign > 0 && 2*foreign <= len(look)
}

// Visible returns a field's name as a message shows it: with escapes if it is
// not ASCII, because some letters of other alphabets look like ours.
func Visible(name string) string {
	if IsASCII(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// OneOff reports whether a and b differ by one letter: added, left out,
// replaced, or swapped with its neighbour.
func OneOff(a, b string) bool { return Distance(a, b, 2) == 1 }

// Distance returns how many bytes have to be added, left out, replaced or
// swapped with their neighbours to turn a into b. It returns most if they are
// that many or more.
func Distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return min(last[len(b)], most)
}

// IsASCII reports whether s is ASCII. Such a text is the same in all
// normalization forms of Unicode.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Short returns s cut to 60 characters, for messages.
func Short(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		return string([]rune(s)[:60]) + "…"
	}
	return s
}

package termtext

import "unicode/utf8"

// Cut returns s in at most limit characters. If s is longer, the last one is
// "…".
func Cut(s string, limit int) string {
	left, end := limit, 0
	for i := range s {
		if left == 0 {
			return s[:end] + "…"
		}
		if left--; left == 0 {
			end = i
		}
	}
	return s
}

// CutBytes is Cut with a limit in bytes.
func CutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Head(s, limit-len("…")) + "…"
}

// Head returns at most the first n bytes of s, without splitting a character.
func Head[T ~string | ~[]byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for back := 0; back < utf8.UTFMax && n-back >= 0; back++ {
		if utf8.RuneStart(s[n-back]) {
			return s[:n-back]
		}
	}
	return s[:n] // no UTF-8 at all
}

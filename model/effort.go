package model

import (
	"slices"
	"strings"
)

// Efforts are the words of [Params.Effort], the least first.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// IsEffort reports whether a word is one of [Efforts], in any case.
func IsEffort(word string) bool {
	return slices.Contains(Efforts, strings.ToLower(strings.TrimSpace(word)))
}

package permission

import (
	_ "embed"
	"sync"
)

// DefaultsText is the text of [Defaults], with comments for people.
//
//go:embed defaults.jsonc
var DefaultsText []byte

// newText is what a new permissions.jsonc holds: only comments.
//
//go:embed new.jsonc
var newText []byte

// Defaults returns the built-in rules, which lie below all others: see [Layers.Defaults].
var Defaults = sync.OnceValue(func() *Ruleset {
	r, err := ParseJSON(DefaultsText, "built in", nil)
	if err != nil {
		panic(err) // part of the program
	}
	return r
})

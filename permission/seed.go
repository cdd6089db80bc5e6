package permission

import _ "embed"

// seedText is what a new permissions.jsonc holds.
//
//go:embed seed.jsonc
var seedText []byte

// SeedRules returns the rules that a new permissions.jsonc begins with.
func SeedRules() *Ruleset {
	r, err := ParseJSON(seedText, "built in", nil)
	if err != nil {
		panic(err) // part of the program
	}
	return r
}

package record

import (
	"crypto/rand"
)

// idDigits are the digits of an id: 5 bits each.
const idDigits = "abcdefghijklmnopqrstuvwxyz234567"

// NewID returns an id of 80 random bits for subjects, paths and URLs. Its prefix names what
// the id is for.
func NewID(prefix string) string {
	var digits [16]byte
	_, _ = rand.Read(digits[:]) // it never fails
	for i, b := range digits {
		digits[i] = idDigits[b%32]
	}
	return prefix + "_" + string(digits[:])
}

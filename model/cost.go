package model

import (
	"encoding/json"
	"math"
	"strconv"
)

// USD is an amount of money in billionths of a US dollar. What it can't hold is the
// most that it can.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1e9

// Number returns the amount in dollars, as JSON has it: 0.0125.
func (u USD) Number() json.Number {
	if u == 0 {
		return "0"
	}
	return json.Number(strconv.FormatFloat(float64(u)/float64(Dollar), 'f', -1, 64))
}

// String returns the amount as people read it: $0.0125.
func (u USD) String() string {
	digits := 2
	if u > -Dollar && u < Dollar {
		digits = 4
	}
	return "$" + strconv.FormatFloat(float64(u)/float64(Dollar), 'f', digits, 64)
}

// Dollars returns the amount of a number of dollars, rounded up.
func Dollars(amount float64) USD {
	switch nano := math.Ceil(amount*float64(Dollar) - 1e-3); { // 1e-3: what the multiplication has added
	case nano >= math.MaxInt64:
		return math.MaxInt64
	case nano > 0:
		return USD(nano)
	default:
		return 0
	}
}

// Paid returns what was paid for the tokens. known false: at least one of their
// prices is not known. No tokens cost nothing.
func (u Usage) Paid() (cost USD, known bool) {
	if u.Cost == "" {
		return 0, u.none()
	}
	amount, err := u.Cost.Float64()
	if err != nil || amount < 0 || math.IsNaN(amount) {
		return 0, false
	}
	return Dollars(amount), true
}

// none reports whether nothing was used.
func (u Usage) none() bool {
	return u.InputTokens == 0 && u.OutputTokens == 0 && u.CacheReadTokens == 0 && u.CacheWriteTokens == 0
}

// costWith returns the Cost of u and v.
func (u Usage) costWith(v Usage) json.Number {
	a, known := u.Paid()
	b, knownToo := v.Paid()
	if !known || !knownToo || u.Cost == "" && v.Cost == "" {
		return ""
	}
	if a > math.MaxInt64-b {
		return USD(math.MaxInt64).Number()
	}
	return (a + b).Number()
}

// ShowCost returns the cost as people read it: unknown where it is not known.
func (u Usage) ShowCost() string {
	if cost, known := u.Paid(); known {
		return cost.String()
	}
	return "unknown"
}

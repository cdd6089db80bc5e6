package agentdefs

import (
	"maps"
	"slices"
)

// nearestField returns the spelling of a field that name, which is none, is
// likely to be a slip of the pen for; empty: none is near.
func nearestField(name string) string {
	c := canonical(name)
	best, least := "", 1
	if len(c) >= 8 {
		least = 2
	}
	least++ // the first distance that is too much
	for _, id := range slices.Sorted(maps.Keys(spellings)) {
		for _, spelling := range spellings[id] {
			known := canonical(spelling)
			if len(c) < 4 || len(known) < 4 {
				continue
			}
			if d := editDistance(c, known, least); d < least {
				best, least = spelling, d
			}
		}
	}
	return best
}

// editDistance returns how many letters have to be added, left out, replaced or
// swapped with their neighbours to make b of a; most stands for that and more.
func editDistance(a, b string, most int) int {
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

package termtext

import (
	"fmt"
	"strconv"
	"time"
)

// Duration returns a time in at most four characters: 12s, 3m, 2h, 5d. Below 0 it is "-".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", min(999, int(d.Hours()/24)))
}

// Count returns a number in at most six characters: 950, 12.5k, 3.1M.
func Count(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n/100)/10)
	}
	return fmt.Sprintf("%.1fM", float64(n/100_000)/10)
}

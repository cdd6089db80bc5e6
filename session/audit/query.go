package audit

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Query is a [Filter] as people and programs write it. Each text may be empty.
type Query struct {
	Kind, Agent, Tool, Outcome, Session string

	Since, Until string // a day, a time, or how long ago: 2026-11-23, 2026-11-23T10:00:00Z, 90m, 7d
}

// QueryError tells which text of a query can't be read.
type QueryError struct {
	Name string // of the text: kind, since or until
	Text string
	Err  error
}

func (e *QueryError) Error() string { return fmt.Sprintf("%s %.80s: %v", e.Name, e.Text, e.Err) }
func (e *QueryError) Unwrap() error { return e.Err }

// Filter returns the filter of the query at a time. Errors are [*QueryError].
func (q *Query) Filter(now time.Time) (*Filter, error) {
	if q.Kind != "" && !slices.Contains(Kinds, Kind(q.Kind)) {
		return nil, &QueryError{"kind", q.Kind, fmt.Errorf("the kinds are %v", Kinds)}
	}
	f := &Filter{Kind: q.Kind, Agent: q.Agent, Tool: q.Tool, Outcome: q.Outcome, Session: q.Session}
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"since", q.Since, &f.Since}, {"until", q.Until, &f.Until}} {
		if t.text == "" {
			continue
		}
		at, err := parseTime(t.text, now)
		if err != nil {
			return nil, &QueryError{t.name, t.text, err}
		}
		*t.to = at
	}
	if !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return nil, &QueryError{"since", q.Since, fmt.Errorf("it is not before until %.80s", q.Until)}
	}
	return f, nil
}

// maxAgo bounds a time that has passed.
const maxAgo = 100 * 365 * 24 * time.Hour

// parseTime reads a time, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, isDays := cutDays(text); isDays {
		ago, err = time.Duration(days)*24*time.Hour, nil
	}
	if err != nil || ago < 0 || ago > maxAgo {
		return time.Time{}, errors.New("write a day (2026-11-23), a time (2026-11-23T10:00:00Z), or how long ago (90m, 7d)")
	}
	return now.Add(-ago), nil
}

// cutDays returns the number of days of a text such as "7d".
func cutDays(text string) (days int, ok bool) {
	var unit string
	n, err := fmt.Sscanf(text, "%d%s", &days, &unit)
	return days, err == nil && n == 2 && unit == "d" && days >= 0 && days <= int(maxAgo/(24*time.Hour))
}

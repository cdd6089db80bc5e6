package audit

// Bound has a file of the log take no more than max bytes.
func Bound(l *Log, max int64) { l.max = max }

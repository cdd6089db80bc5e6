package store

// BeforeEnd has f called when s has marked a session as its own to end, and not yet
// ended it.
func BeforeEnd(s *Store, f func(id string)) { s.beforeEnd = f }

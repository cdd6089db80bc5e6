package store

// Unsettled is what model calls may have used.
type Unsettled struct {
	ModelCalls int64 // besides those in [Record.Steps]
	Tokens     int64
	Cost       int64 // in billionths of a US dollar
}

func (u *Unsettled) add(r *reserveData, calls int64) {
	if r != nil {
		u.ModelCalls, u.Tokens, u.Cost = u.ModelCalls+calls, u.Tokens+r.Tokens, u.Cost+r.Cost
	}
}

// reserve takes what was set aside for a call. Of the one before it is not known then
// what it has used, if its usage was not told.
func (f *fold) reserve(entry reserveData) {
	if entry == (reserveData{}) {
		f.reserved = nil
		return
	}
	f.Unsettled.add(f.reserved, 1)
	f.reserved = &entry
}

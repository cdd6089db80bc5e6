package event

// MovedToBackground reports that the call that has waited for the session has
// returned, and that the session goes on in the background.
type MovedToBackground struct {
	By string `json:"by"` // for people
}

// Type implements [Event].
func (MovedToBackground) Type() string { return "moved_to_background" }

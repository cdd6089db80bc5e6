package event

// MovedToBackground reports that the call that has waited for the session has
// returned, and that the session goes on in the background.
type MovedToBackground struct {
	By string `json:"by"` // for people
}

// AssignmentChanged reports that the session has another task or role from here on. What
// is empty stays.
type AssignmentChanged struct {
	Objective string `json:"objective,omitempty"` // what it is to do
	Role      string `json:"role,omitempty"`      // as what
}

// Type implements [Event].
func (AssignmentChanged) Type() string { return "assignment_changed" }
func (MovedToBackground) Type() string { return "moved_to_background" }

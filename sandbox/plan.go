package sandbox

// Plan is what becomes of a profile on this system, now.
type Plan struct {
	// Backend holds the command; "" none.
	Backend Backend `json:"backend"`

	// Hidden are the files and folders of the workspace that cannot be
	// opened, ReadOnly those that cannot be changed, at the highest place
	// where all is denied.
	Hidden   []string `json:"hidden"`
	ReadOnly []string `json:"readOnly"`

	// NotHeld says in sentences what the rules deny and the backend cannot
	// hold. A call of which one may be true has to be asked about.
	NotHeld []string `json:"notHeld,omitempty"`
}

// Holds reports whether all that the profile denies is impossible.
func (p *Plan) Holds() bool { return p.Backend != "" && len(p.NotHeld) == 0 }

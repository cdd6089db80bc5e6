package sandbox

import "fmt"

// Mode says what happens to a command that no sandbox can hold.
type Mode string

const (
	Required Mode = "required" // it does not run
	Auto     Mode = "auto"     // somebody is asked
	Off      Mode = "off"      // no sandbox: a call is asked about where rules deny files
)

// ParseMode returns the mode that s spells. "" is [Auto].
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Auto, nil
	case Required, Auto, Off:
		return m, nil
	}
	return "", fmt.Errorf("unknown sandbox mode %q (use required, auto or off)", s)
}

// Support is what a system offers.
type Support struct {
	System       string `json:"system"`
	Architecture bool   `json:"architecture"` // the filter knows the processor's calls
	Namespaces   bool   `json:"namespaces"`   // user namespaces, and all that a sandbox makes in them
	NoNamespaces string `json:"noNamespaces,omitempty"`
	Landlock     int    `json:"landlock"`   // version of the interface; 0 means not available
	Supervisor   bool   `json:"supervisor"` // the kernel tells of calls that make names
}

// Backend is a way to hold a command.
type Backend string

const (
	Namespaces Backend = "namespaces"
	Landlock   Backend = "landlock"
	Seatbelt   Backend = "sandbox-exec"
)

// Backend returns the best way that the system offers; "": none, and why.
func (s Support) Backend() (b Backend, why string) {
	switch {
	case s.System == "darwin":
		return "", "sandbox-exec is not driven yet: its profile is shown alone"
	case s.System != "linux":
		return "", "there is no sandbox for " + s.System + " yet"
	case s.Namespaces:
		return Namespaces, ""
	case s.Landlock > 0:
		return Landlock, ""
	}
	return "", "the kernel has neither unprivileged user namespaces nor Landlock: " + s.NoNamespaces
}

// Plan is what this system holds of a profile now.
type Plan struct {
	// Backend holds the command; "" none.
	Backend Backend `json:"backend"`

	// Hidden are files and folders of the workspace that cannot be opened.
	// ReadOnly cannot be changed. Where all in a folder is denied, the folder is
	// listed.
	Hidden   []string `json:"hidden"`
	ReadOnly []string `json:"readOnly"`

	// NotLooked are folders of the system that hold too much to look for what rules deny
	// there: such files are readable.
	NotLooked []string `json:"notLooked,omitempty"`

	// NotHeld says in sentences what the rules deny and the backend cannot
	// hold. A call of which one may be true has to be asked about.
	NotHeld []string `json:"notHeld,omitempty"`
}

// Holds reports whether all that the profile denies is impossible.
func (p *Plan) Holds() bool { return p.Backend != "" && len(p.NotHeld) == 0 }

package sandbox

// Support is what a system offers.
type Support struct {
	System       string `json:"system"`
	Architecture bool   `json:"architecture"` // the filter knows the processor's calls
	Namespaces   bool   `json:"namespaces"`   // user namespaces, and all that a sandbox makes in them
	NoNamespaces string `json:"noNamespaces,omitempty"`
	Landlock     int    `json:"landlock"`   // version of the interface; 0 means not available
	Supervisor   bool   `json:"supervisor"` // the kernel tells of calls that make names
	Bubblewrap   string `json:"bubblewrap,omitempty"`
}

// Backend is a way to hold a command.
type Backend string

const (
	Namespaces Backend = "namespaces"
	Bubblewrap Backend = "bwrap"
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
	case s.Bubblewrap != "":
		return Bubblewrap, ""
	case s.Landlock > 0:
		return Landlock, ""
	}
	return "", "the kernel has neither unprivileged user namespaces nor Landlock: " + s.NoNamespaces
}

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

// Open says in sentences what the best sandbox of this system leaves open, and what would close
// it. None means that it holds all that rules deny.
func (s Support) Open() (out []string) {
	backend, why := s.Backend()
	if backend == "" {
		return []string{why}
	}
	if backend == Landlock {
		why := s.NoNamespaces
		if why == "" {
			why = "not available"
		}
		out = append(out, "a command can make nothing in a folder with a denied or read-only file, such as the top of a repository; elsewhere it can make what rules deny by name, "+
			"agent files and repositories: allow unprivileged user namespaces ("+why+")")
	}
	if backend == Namespaces && !s.Supervisor {
		out = append(out, notTold)
	}
	switch {
	case s.Landlock == 0:
		out = append(out, "there is no second wall behind the mounts: have the kernel start with landlock among its security modules (lsm=landlock,…)")
	case s.Landlock < truncateABI:
		out = append(out, noTruncate)
	case backend == Landlock && s.Landlock < scopeABI:
		out = append(out, "commands may send signals to other programs of the user: Landlock holds that from version 6 (Linux 6.12)")
	}
	return out
}

// The versions of Landlock that a part of the second wall needs.
const (
	truncateABI = 3
	scopeABI    = 6
)

// What a system without the support for it leaves open.
const (
	notTold = "a new file may get a name that the rules deny, a file that changes while a command runs is not judged again, and commands have no unix sockets: " +
		"the kernel tells nobody of such calls before Linux 5.19"
	noTruncate = "Landlock does not keep a read-only file from being cut to nothing before version 3 (Linux 6.2)"
)

// Plan is what this system holds of a profile now.
type Plan struct {
	// Backend holds the command; "" none.
	Backend Backend `json:"backend"`

	// Hidden are files and folders of the workspace that cannot be opened.
	// ReadOnly cannot be changed. Where all in a folder is denied, the folder is
	// listed.
	Hidden   []string `json:"hidden"`
	ReadOnly []string `json:"readOnly"`

	// NotLooked are folders outside of the workspace that hold too much to look for what rules deny
	// there: such files are as reachable as the folder is. NotHeld tells of those that commands may write.
	NotLooked []string `json:"notLooked,omitempty"`

	// NotHeld says in sentences what the rules deny and the backend cannot
	// hold. A call of which one may be true has to be asked about.
	NotHeld []string `json:"notHeld,omitempty"`

	pinned []string // folders that can be neither moved nor removed, whatever is done in them
}

// Holds reports whether all that the profile denies is impossible.
func (p *Plan) Holds() bool { return p.Backend != "" && len(p.NotHeld) == 0 }

package definition

import (
	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
)

// parser holds the state of reading one file.
type parser struct {
	*access.Reader
	knownModel func(name string) bool
	knownSkill func(name string) bool
	maxSteps   int  // of an agent whose file does not say
	outside    bool // as in [Options]

	name, description agentfile.Entry
	access            access.Fields
	disabled          bool // the file switches its agent off
	noModelCall       bool // no model may call it
}

// Options says what the meaning of a file depends on beside its text.
type Options struct {
	Home       string                 // what "~/" and "$HOME/" mean in patterns
	Nesting    bool                   // no "task: deny" is added
	MaxSteps   int                    // of an agent whose file does not say; 0 means by its dialect
	KnownSkill func(name string) bool // whether there is a skill of this name; nil means any
	KnownModel func(name string) bool // whether a file may name this model or alias; nil means any
	Outside    bool                   // the file is the user's: what it runs needs nobody's trust
}

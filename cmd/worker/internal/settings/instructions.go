package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/agentdefs/instructions"
)

// instructionWords stand for several kinds of instructions.
var instructionWords = map[string][]string{"none": {}, "default": instructions.Default(), "all": instructions.Kinds()}

func (s *Settings) registerInstructions(flags *pflag.FlagSet) {
	known := "none, default, all, " + strings.Join(instructions.Kinds(), ", ")
	check := func(name string) error {
		if _, ok := instructionWords[name]; !ok && !slices.Contains(instructions.Kinds(), name) {
			return fmt.Errorf("unknown kind of instructions %q (use some of %s)", name, known)
		}
		return nil
	}
	kinds := list(&s.instructionsFrom, "list", "write a list of kinds, all or none", check)
	flags.Var(kinds, "instructions-from", "which kinds of instructions agents are given, with commas between ("+known+")")
}

// Instructions returns the kinds of instructions that agents are given.
func (s *Settings) Instructions() []string {
	if len(s.instructionsFrom) == 0 {
		return instructions.Default()
	}
	kinds := []string{}
	for _, name := range s.instructionsFrom {
		if several, ok := instructionWords[name]; ok {
			kinds = append(kinds, several...)
		} else {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

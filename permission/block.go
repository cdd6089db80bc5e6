package permission

import "strings"

// Block says for which sessions a rule is: that of an agent, and those where nobody can be
// asked. The zero Block is for all.
type Block struct {
	Agent      string // by its name, exactly; empty means any
	Unattended bool
}

// Who is the session that makes a call, as blocks of rules see it.
type Who struct {
	Agent      string // by the name under which it was found; empty means it has none
	Unattended bool   // nobody can be asked
}

// The names in front of blocks.
const (
	agentsKey  = "agents"
	whenKey    = "when"
	unattended = "unattended"
)

// Has reports whether a rule of the block is for a session.
func (b Block) Has(w Who) bool {
	return (b.Agent == "" || b.Agent == w.Agent) && (!b.Unattended || w.Unattended)
}

// String returns the block in words, with a blank before it; empty for the one of all.
func (b Block) String() string {
	text := ""
	if b.Agent != "" {
		text = " for the agent " + b.Agent
	}
	if b.Unattended {
		text += " when unattended"
	}
	return text
}

// For returns the rules that are for a session. Of a ruleset that no session was chosen
// for, those of blocks count that deny.
func (r *Ruleset) For(w Who) *Ruleset {
	if r == nil || !r.blocks {
		return r
	}
	if chosen, ok := r.chosen.Load(w); ok {
		return chosen.(*Ruleset)
	}
	chosen := &Ruleset{}
	for _, c := range r.rules {
		if c.Block.Has(w) {
			chosen.rules = append(chosen.rules, c)
		}
	}
	if r.choices.Add(1) <= maxTools {
		r.chosen.Store(w, chosen)
	}
	return chosen
}

// Apart returns the rules of each block as a ruleset of its own, with the block.
func (r *Ruleset) Apart() (blocks []Block, rules []*Ruleset) {
	if r == nil {
		return nil, nil
	}
	at := make(map[Block]*Ruleset)
	for _, c := range r.rules {
		of := at[c.Block]
		if of == nil {
			of = &Ruleset{}
			at[c.Block] = of
			blocks, rules = append(blocks, c.Block), append(rules, of)
		}
		of.rules = append(of.rules, c)
	}
	return blocks, rules
}

func hasBlocks(rules []*compiled) bool {
	for _, c := range rules {
		if c.Block != (Block{}) {
			return true
		}
	}
	return false
}

// isBlock reports whether an entry has rules of blocks.
func isBlock(name string) bool { return name == agentsKey || name == whenKey }

// blockName is an agent's name as a block may have it.
func blockName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "*?[{!(") && name == strings.TrimSpace(name)
}

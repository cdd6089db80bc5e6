// Package policy has what an administrator lays down for all workers of a machine, above
// repositories, their users and their agents. A policy only narrows: nothing in it grants
// anything.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentworker/worker/permission"
)

// Policy is what the files of a policy say together: what one of them forbids is
// forbidden. It is immutable. A nil *Policy forbids nothing.
type Policy struct {
	files   []File
	hash    string
	rules   ruleSets          // of all files
	second  ruleSets          // of "secondPerson", with deny instead of ask: they deny what a second person has to approve
	bounds  map[string]Bound  // by the keys of settings
	budgets []Budget          // one for each file that has any
	lists   map[Kind][]list   // one for each file that has any
	servers []serverList      // MCP and language servers, one for each list of a file
	sandbox permission.Source // where one is required; no file means none is
	masks   permission.Source // where models must not read credentials; no file means they may
	noRules permission.Source // where "always" is forbidden; no file means it is not
}

// File is one file of a policy.
type File struct {
	Path string `json:"path"`
	Hash string `json:"hash"` // of its text: "sha256:" and 64 hex digits
	text []byte
}

// New returns the policy of these texts, in the order of the files. Errors are
// [*permission.SyntaxError].
func New(files ...File) (*Policy, error) {
	p := &Policy{}
	all := sha256.New()
	for _, f := range files {
		if err := p.add(&f); err != nil {
			return nil, err
		}
		f.Hash = hashOf(f.text)
		p.files = append(p.files, f)
		fmt.Fprintf(all, "%s %s\n", f.Hash, f.Path)
	}
	p.hash = "sha256:" + hex.EncodeToString(all.Sum(nil))
	return p, nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Files returns the files of the policy, in the order in which they are read.
func (p *Policy) Files() []File {
	if p == nil {
		return nil
	}
	return p.files
}

// Hash tells policies apart: "sha256:" and the hex digits of a hash of all files, with
// their paths. Empty means there is no policy.
func (p *Policy) Hash() string {
	if p == nil {
		return ""
	}
	return p.hash
}

// Rules returns the rules for a session, as [permission.Layers] has them. Each
// file and each block has a ruleset of its own, so that none lifts another's.
func (p *Policy) Rules(w permission.Who) []*permission.Ruleset {
	if p == nil {
		return nil
	}
	return p.rules.of(w)
}

// SecondPerson returns rules for a session. They deny what somebody must
// approve who has not asked for the work. [Policy.Rules] has them too, and asks
// about the same.
func (p *Policy) SecondPerson(w permission.Who) []*permission.Ruleset {
	if p == nil {
		return nil
	}
	return p.second.of(w)
}

// ruleSets are the rules of files, those of each block by themselves.
type ruleSets struct {
	blocks []permission.Block
	rules  []*permission.Ruleset // of each block
}

// add adds the rules of a file.
func (s *ruleSets) add(rules *permission.Ruleset) {
	blocks, apart := rules.Apart()
	s.blocks, s.rules = append(s.blocks, blocks...), append(s.rules, apart...)
}

// of returns the rules that hold for a session.
func (s *ruleSets) of(w permission.Who) []*permission.Ruleset {
	if !slices.ContainsFunc(s.blocks, func(b permission.Block) bool { return b != permission.Block{} }) {
		return s.rules
	}
	var rules []*permission.Ruleset
	for i, b := range s.blocks {
		if b.Has(w) {
			rules = append(rules, s.rules[i])
		}
	}
	return rules
}

// Narrows says for people what the policy narrows, a line for each thing.
func (p *Policy) Narrows() []string {
	lines := []string{}
	if p == nil {
		return lines
	}
	second := make(map[permission.Source]bool) // the places of the rules about a second person
	for _, rules := range p.second.rules {
		for rule := range rules.Rules() {
			second[rule.Source] = true
		}
	}
	for _, rules := range p.rules.rules {
		for rule := range rules.Rules() {
			what := ""
			if second[rule.Source] && rule.Action == permission.Ask {
				what = ", and a second person has to approve it"
			}
			if rule.Action != permission.Allow {
				lines = append(lines, fmt.Sprintf("%v%s (%s)", rule, what, rule.Source))
			}
		}
	}
	if p.noRules.File != "" {
		lines = append(lines, fmt.Sprintf("\"always\" is not offered (%s)", p.noRules))
	}
	return slices.Concat(lines, p.listLines(), p.serverLines(), p.boundLines())
}

// Lasting returns an error that names the file if answers may add no rule that lasts.
func (p *Policy) Lasting() error {
	if p == nil || p.noRules.File == "" {
		return nil
	}
	return fmt.Errorf("the policy forbids rules that last (%s)", p.noRules)
}

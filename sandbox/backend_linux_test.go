package sandbox_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestBackends runs the rows with parts of the kernel switched off: each is
// held, or the plan says that it is not, so that somebody is asked.
func TestBackends(t *testing.T) {
	full := sandbox.Detect()
	t.Logf("%+v", full)
	without := func(change func(*sandbox.Support)) *sandbox.Support {
		s := full
		change(&s)
		return &s
	}
	for name, support := range map[string]*sandbox.Support{
		"no Landlock":    without(func(s *sandbox.Support) { s.Landlock = 0 }),
		"no supervisor":  without(func(s *sandbox.Support) { s.Supervisor = false }),
		"Landlock alone": without(func(s *sandbox.Support) { s.Namespaces = false }),
		"nothing":        without(func(s *sandbox.Support) { s.Namespaces, s.Landlock = false, 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held, asked := 0, 0
			for _, e := range effects(t) {
				variants := []string{string(e.Rules)}
				if e.Proof != "rm" {
					variants = append(variants, `{"*": "allow", `+strings.TrimPrefix(strings.TrimSpace(string(e.Rules)), "{"))
				} else {
					variants = append(variants, `{"read_file": "allow", `+strings.TrimPrefix(strings.TrimSpace(string(e.Rules)), "{"))
				}
				for _, text := range variants {
					p := newPlace(t, text, repository+e.Setup, sandbox.Options{Support: support, Mode: sandbox.Auto})
					plan, err := p.session.Plan(sandbox.NewProfile(p.input))
					if err != nil {
						t.Fatal(err)
					}
					if !plan.Holds() {
						asked++
						continue
					}
					held++
					before := snapshot(p.root, e.target())
					if out := p.limited(e.Args.Command); e.happened(p.root, out, before) && !e.byGit() {
						t.Errorf("%s: %s\n%s happened with %s\n%s", e.Why, e.Args.Command, e.Proof, text, out)
					}
				}
			}
			t.Logf("%d held, %d asked", held, asked)
			if held == 0 && name != "nothing" && full.Namespaces {
				t.Error("nothing is held")
			}
		})
	}
}

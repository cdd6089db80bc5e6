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

// TestLandlockAlone: without namespaces, commands can do what doctor and explain say, and no more.
func TestLandlockAlone(t *testing.T) {
	support := sandbox.Detect()
	support.Namespaces, support.NoNamespaces = false, "switched off"
	p := newPlace(t, secretRules, repository+`mkdir -p conf sub; echo S3CRETMARK > .env; echo S3CRETMARK > conf/.env; echo fine > conf/plain; echo fine > plain`, sandbox.Options{Support: &support, Mode: sandbox.Auto})
	out, _ := p.run(`for f in new conf/new sub/b.env sub/.claude/agents/e.md sub/r/.git/config; do mkdir -p $(dirname $f); echo made > $f && echo "made $f"; done 2> /dev/null
		cat .env conf/.env; echo >> .git/config; cp .env e; mv .env sub/; ln .env sub/l; ln -s .env s; cat sub/l s; cat plain conf/plain; echo end`)
	if strings.Contains(out, mark) || strings.Count(out, "fine\n") != 2 || !strings.HasSuffix(out, "end\n") {
		t.Errorf("%s", out)
	}
	if got, want := strings.Join(strings.Fields(out[:strings.LastIndex(out, "made ")+40]), " "), "made sub/b.env made sub/.claude/agents/e.md made sub/r/.git/config"; !strings.HasPrefix(got, want) {
		t.Errorf("%s", out)
	}
	said := strings.Join(support.Open(), " ")
	plan, err := p.session.Plan(sandbox.NewProfile(p.input))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"agent file", "repositor"} {
		if !strings.Contains(said, part) || !strings.Contains(strings.Join(plan.NotHeld, " "), part) {
			t.Errorf("%q is not said: %s; %v", part, said, plan.NotHeld)
		}
	}
}

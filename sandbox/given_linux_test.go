package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// changeGiven tries to read and to change what a folder outside of the workspace holds.
const changeGiven = `cd OUT; cat .env deep/.env id.pem b.env 2>/dev/null
	for f in .env deep/.env id.pem locked/f go.lock b.env; do
		echo PWNED >> $f; cp /bin/true $f; truncate -s 0 $f; chmod 600 $f; mv $f /tmp/; mv $f $f.2; rm -f $f; ln $f hard; ln -sf plain $f
	done 2>/dev/null
	mv deep d2; cat d2/.env; mv locked l2; echo PWNED > l2/f; echo PWNED > new.env; mkdir x.env; echo PWNED > locked/g; mv plain2 other.env; echo x > deep/n.pem
	cat plain deep/plain; echo more >> plain; echo new > fresh && mv fresh fresher && rm fresher && mkdir dir && rmdir dir && echo made; echo end`

// TestGivenFolder: rules about files, for any place and about writing too, bind commands in a folder that a
// person has named as they do in the workspace. What they allow works.
func TestGivenFolder(t *testing.T) {
	const deny = `{"*": "allow", "read_file": {"*": "allow", "**/.env": "deny", "*.env": "deny", "*.pem": "deny"},
		"write_file": {"*": "allow", "*.env": "deny", "*.pem": "deny", "OUT/locked/**": "deny", "**/*.lock": "deny"}}`
	const setup = `mkdir -p ../out/deep ../out/locked; cd ../out; for f in .env deep/.env id.pem; do echo S3CRETMARK > $f; done; echo old > locked/f; echo old > go.lock; echo fine > plain; echo fine > deep/plain; echo fine > plain2`
	for name, c := range map[string]struct {
		access    sandbox.Access
		approved  bool
		unlimited bool
		change    string
	}{
		"to read":                {access: sandbox.Read},
		"to write":               {access: sandbox.Write},
		"as a copy":              {access: sandbox.Copy},
		"by a session that asks": {access: sandbox.Write, approved: true},
		"while it changes":       {access: sandbox.Write, change: `cd ../out; for f in .env deep/.env id.pem b.env; do echo S3CRETMARK > t; mv t $f; done; for f in locked/f go.lock; do echo old > t; mv t $f; done`},
		"read while it changes":  {access: sandbox.Read, change: `cd ../out; for f in .env deep/.env id.pem b.env; do echo S3CRETMARK > t; mv t $f; done`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, all, setup, sandbox.Options{})
			dir := filepath.Join(filepath.Dir(p.root), "out")
			p.input.Layers.Agents[0] = rules(t, strings.ReplaceAll(deny, "OUT", dir))
			p.input.Folders = []sandbox.Folder{{Path: dir, Access: c.access, Given: true}}
			p.input.Approved = c.approved
			out := p.meanwhile(strings.ReplaceAll(changeGiven, "OUT", dir), c.change)
			if strings.Contains(out, mark) || !strings.Contains(out, "fine\nfine\n") || !strings.HasSuffix(out, "end\n") || c.access == sandbox.Write && !strings.Contains(out, "made\n") {
				t.Errorf("%s", out)
			}
			for path, want := range map[string]string{".env": "S3CRETMARK\n", "deep/.env": "S3CRETMARK\n", "id.pem": "S3CRETMARK\n", "locked/f": "old\n", "go.lock": "old\n"} {
				info, err := os.Lstat(filepath.Join(dir, path))
				if got, _ := os.ReadFile(filepath.Join(dir, path)); string(got) != want || err != nil || info.Mode() != 0o644 {
					t.Errorf("%s is %q, %v, %v", path, got, info, err)
				}
			}
			for _, path := range []string{"new.env", "x.env", "locked/g", "other.env", "deep/n.pem", "hard", "l2", "d2"} {
				if _, err := os.Lstat(filepath.Join(dir, path)); err == nil && path != "d2" {
					t.Errorf("%s was made", path)
				}
			}
			if plain, _ := os.ReadFile(filepath.Join(dir, "plain")); (string(plain) == "fine\nmore\n") != (c.access == sandbox.Write) {
				t.Errorf("plain is %q", plain)
			}
		})
	}
}

// TestGivenFolderLooked: a folder with too many names is said not to be looked at, and what rules deny to write there is not held; one that no rule is about needs
// no look, and nothing in it is held.
func TestGivenFolderLooked(t *testing.T) {
	for name, c := range map[string]struct {
		rules  string
		most   int
		looked bool
		made   bool
	}{
		"no denial":     {`{"*": "allow"}`, 0, true, true},
		"another place": {`{"*": "allow", "write_file": {"*": "allow", "sub/**": "deny", "/nowhere/**": "deny"}}`, 0, true, true},
		"small enough":  {`{"*": "allow", "write_file": {"*": "allow", "*.env": "deny"}}`, 100, true, false},
		"too large":     {`{"*": "allow", "write_file": {"*": "allow", "*.env": "deny"}}`, 9, false, true},
		"all of it":     {`{"*": "allow", "write_file": {"*": "allow", "OUT/**": "deny"}}`, 100, true, false},
	} {
		restore := sandbox.SetMaxGiven(c.most)
		p := newPlace(t, all, `mkdir ../out; cd ../out; touch a b c d e f g h i j k`, sandbox.Options{})
		dir := filepath.Join(filepath.Dir(p.root), "out")
		p.input.Layers.Agents[0] = rules(t, strings.ReplaceAll(c.rules, "OUT", dir))
		p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Write, Given: true}}
		plan, err := p.session.Plan(sandbox.NewProfile(p.input))
		if err != nil || slices.Contains(plan.NotLooked, dir) == c.looked {
			t.Errorf("%s: not looked at: %v, %v", name, plan.NotLooked, err)
		}
		for access, want := range map[sandbox.Access]bool{sandbox.Write: c.looked, sandbox.Read: true, sandbox.Copy: true} {
			p.input.Folders[0].Access = access
			held, why, err := p.session.Holds(sandbox.NewProfile(p.input))
			if said := strings.Contains(strings.Join(why, ";"), dir); held != want || said == want || err != nil {
				t.Errorf("%s, to %v: held %v, %q, %v", name, access, held, why, err)
			}
		}
		p.input.Folders[0].Access = sandbox.Write
		out := p.limited(`echo x > ` + dir + `/new.env; cat ` + dir + `/a && echo end`)
		restore()
		if _, err := os.Lstat(dir + "/new.env"); (err == nil) != c.made || !strings.Contains(out, "end") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

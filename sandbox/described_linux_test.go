package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestUnseen: what cannot be looked at is not allowed, and nothing else stops.
func TestUnseen(t *testing.T) {
	for name, hide := range map[string]string{
		"no right to list":           `chmod 0300 conf`,
		"no right to enter":          `chmod 0400 conf`,
		"no right at all, above":     `mkdir -p up/mid; mv conf up/mid; chmod 0 up`,
		"not listed, below the last": `mkdir -p up/mid; mv conf up/mid; chmod 0111 up/mid`,
		"a path that is too long": `python3 -c 'import os
os.rename("conf","c")
for i in range(25): os.mkdir("d"*200); os.chdir("d"*200)'; mv c conf`,
		".git": `mv conf .git; chmod 0300 .git`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, secretRules, `mkdir conf; echo S3CRETMARK > conf/p.env; `+hide, sandbox.Options{})
			t.Cleanup(func() { p.script(`chmod -R u+rwx .`) })
			out, _ := p.run(`chmod -R u+rwx . 2>/dev/null; cat conf/p.env up/mid/conf/p.env .git/conf/p.env; for f in conf up/mid/conf .git/conf; do echo PWNED > $f/p.env; done; echo works`)
			if strings.Contains(out, mark) || !strings.Contains(out, "works") {
				t.Errorf("the output is\n%s", out)
			}
			p.script(`chmod -R u+rwx .; ! grep -rqs PWNED .`)
		})
	}
}

// TestNamesAreBytes: a name that is not UTF-8 is held, and one that looks like it is
// another.
func TestNamesAreBytes(t *testing.T) {
	for _, name := range []string{"donn\xe9es", "\xff", "a\xc0\xafb", "\xed\xa0\x80", "half\xe2\x82", "tab\tnew\nline"} {
		p := newPlace(t, secretRules, "", sandbox.Options{})
		for _, dir := range []string{name, strings.ToValidUTF8(name, "\uFFFD")} {
			if err := os.MkdirAll(filepath.Join(p.root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{name + "/x.env", name + ".env"} {
			if err := os.WriteFile(filepath.Join(p.root, file), []byte(mark), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(p.root, name, "plain"), []byte("fine"), 0o644); err != nil {
			t.Fatal(err)
		}
		out, _ := p.run(`cat */x.env *.env; cat */plain; for d in */; do echo 1 > "$d/new.env"; done; ls */new.env`)
		if strings.Contains(out, mark) || !strings.Contains(out, "fine") || strings.Contains(out, "/new.env\n") && !strings.Contains(out, "No such file") {
			t.Errorf("%q: %s", name, out)
		}
		if made, _ := filepath.Glob(filepath.Join(p.root, "*", "new.env")); len(made) > 0 {
			t.Errorf("%q: %q were made", name, made)
		}
	}
}

// TestFoldersAbove: no folder above a tree that is shown is moved, so that the tree
// stays where the rules are about it.
func TestFoldersAbove(t *testing.T) {
	const setup = `mkdir -p conf/prod sub; echo S3CRETMARK > conf/prod/key`
	for name, move := range map[string]string{
		"rename":            `mv "$U" "$U.2"; cd "$U.2/$REST"`,
		"rename, two above": `mv "$UU" "$UU.2"; cd "$UU.2/$(basename "$U")/$REST"`,
		"exchange":          `mkdir "$U.2"; python3 -c 'import ctypes,os;u=os.environ["U"].encode();print(ctypes.CDLL(None).renameat2(-100,u,-100,u+b".2",2))'; cd "$U.2/$REST"`,
		"into another":      `mkdir -p "$UU/other"; mv "$U" "$UU/other/"; cd "$UU/other/$(basename "$U")/$REST"`,
	} {
		p := newPlace(t, secretRules, setup, sandbox.Options{})
		up := filepath.Dir(p.root)
		out, _ := p.run(`export U=` + up + ` UU=` + filepath.Dir(up) + ` REST=ws; (` + move + `; mv conf c2; cat c2/prod/key; echo A > new.env; mkdir -p sub/.git .agents/agents; echo x > .agents/agents/evil.md)`)
		again, _ := p.run(`cat c2/prod/key`)
		if strings.Contains(out+again, mark) {
			t.Errorf("%s: the secret is out: %s", name, out)
		}
		for _, made := range []string{"new.env", "sub/.git", ".agents/agents/evil.md"} {
			if _, err := os.Stat(filepath.Join(p.root, made)); err == nil {
				t.Errorf("%s: %s was made: %s", name, made, out)
			}
		}
	}
}

// TestGitFile: the file .git of a worktree or a submodule is not written, moved or
// replaced.
func TestGitFile(t *testing.T) {
	const setup = `git init -q ../main && git -C ../main -c user.name=a -c user.email=a@b commit -q --allow-empty -m x &&
		rmdir ../ws && git -C ../main worktree add -q ../ws && cd ../ws && mkdir -p sub evil && echo "gitdir: ../x" > sub/.git`
	for name, command := range map[string]string{
		"truncate":         `python3 -c 'f=open("F","r+");f.truncate(0);f.write("gitdir: evil")'`,
		"append":           `echo evil >> F; python3 -c 'open("F","a").write("evil")'`,
		"replace":          `echo "gitdir: evil" > n; mv -f n F`,
		"remove":           `rm -f F; echo "gitdir: evil" > F`,
		"a link to it":     `ln F l; echo evil >> l; ln -s F s; echo evil >> s`,
		"move the folder":  `mv sub sub2; echo evil >> sub2/.git`,
		"mapped in memory": `python3 -c 'import mmap;f=open("F","r+b");m=mmap.mmap(f.fileno(),0);m[:4]=b"evil"'`,
	} {
		for _, file := range []string{".git", "sub/.git"} {
			p := newPlace(t, all, setup, sandbox.Options{})
			before, err := os.ReadFile(filepath.Join(p.root, file))
			if err != nil {
				t.Fatal(err)
			}
			out, _ := p.run(strings.ReplaceAll(command, "F", file))
			if after, err := os.ReadFile(filepath.Join(p.root, file)); string(after) != string(before) {
				t.Errorf("%s: %s is %q, %v\n%s", name, file, after, err, out)
			}
		}
	}
}

// TestMovedMeanwhile: a name is judged for the place that its folder has when it is
// made, also if commands of two sessions move things at once.
func TestMovedMeanwhile(t *testing.T) {
	loop := fmt.Sprintf("\nfor i in range(%d):", rounds(100, 300))
	mover := `import os,sys
d=os.open("x",os.O_RDONLY)` + loop + `
    try: os.rename("x",".agents")
    except OSError: pass
    try: os.rename(".agents","x")
    except OSError: pass`
	for name, maker := range map[string]string{
		"rename":  `os.rename("z","x/agents")`,
		"mkdir":   `os.mkdir("x/agents")`,
		"symlink": `os.symlink("../z","x/agents")`,
		"file":    `open("x/agents","w").close()`,
	} {
		p := newPlace(t, all, `mkdir -p x/aa z; echo x > z/evil.md; (cd x/aa; seq 1 200 | xargs touch)`, sandbox.Options{})
		other, err := sandbox.Open(sandbox.Options{Dir: filepath.Join(filepath.Dir(p.root), "state"), Mode: sandbox.Required})
		if err != nil {
			t.Fatal(err)
		}
		second := *p
		second.session = other
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		moves := p.start(null, "python3 -c '"+mover+"'")
		makes := second.start(null, "python3 -c '"+`import os`+loop+`
    try: `+strings.ReplaceAll(maker, "'", `"`)+`
    except OSError: pass
    for f in (os.rmdir, os.unlink):
        try: f("x/agents")
        except OSError: pass
    try: os.rename("x/agents","z")
    except OSError: pass`+"'")
		for _, proc := range []*sandbox.Process{moves, makes} {
			if _, err := proc.Wait(); err != nil {
				t.Error(err)
			}
		}
		null.Close()
		if _, err := os.Lstat(filepath.Join(p.root, ".agents", "agents")); err == nil {
			t.Errorf("%s: .agents/agents was made", name)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoRepositoryIsMade: no folder of the workspace becomes one that git takes for a
// repository.
func TestNoRepositoryIsMade(t *testing.T) {
	for name, command := range map[string]string{
		"git":         `git init -q --bare evil; git clone -q --bare . evil`,
		"by hand":     `mkdir -p evil/objects evil/refs; echo "ref: refs/heads/x" > evil/HEAD`,
		"HEAD first":  `mkdir -p evil; echo "ref: refs/heads/x" > evil/HEAD; mkdir evil/refs; mkdir evil/objects`,
		"moved parts": `mkdir -p evil/refs a/objects; echo "ref: refs/heads/x" > evil/HEAD; mv a/objects evil/`,
		"linked":      `mkdir -p evil/objects a; ln -s ../a evil/refs; echo "ref: refs/heads/x" > a/H; ln a/H evil/HEAD`,
		"from /tmp":   `git init -q --bare /tmp/e; mv /tmp/e evil; cp -r /tmp/e evil`,
		"commondir":   `mkdir -p evil a/objects a/refs; echo ../a > evil/commondir; echo "ref: refs/heads/x" > evil/HEAD`,
		"exchange":    `mkdir -p evil/refs a; touch evil/objects evil/HEAD; python3 -c 'import ctypes;print(ctypes.CDLL(None).renameat2(-100,b"evil/objects",-100,b"a",2))'`,
	} {
		p := newPlace(t, all, `git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`, sandbox.Options{})
		out, _ := p.run(command + `; git -C . status --short > /dev/null && git branch side && echo fine`)
		cmd := exec.Command("git", "--git-dir="+filepath.Join(p.root, "evil"), "rev-parse", "--git-dir")
		if text, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: git takes it for a repository: %s\n%s", name, text, out)
		}
		if !strings.Contains(out, "fine") {
			t.Errorf("%s: git in the workspace's own repository does not work: %s", name, out)
		}
	}
}

// TestFoldedNames: where folders take names in any case, rules mean a file by all spellings. The
// folders of this test do not; what is asked about them says that they do.
func TestFoldedNames(t *testing.T) {
	const deny = `{"*": "allow", "read_file": {"*": "allow", "*.env": "deny", "Conf/**": "deny"}, "write_file": {"*": "allow", "*.env": "deny", "*.LOCK": "deny"}}`
	const setup = `mkdir -p conf sub; for f in PROD.ENV sub/a.Env conf/key; do echo S3CRETMARK > $f; done; echo old > go.lock; echo fine > plain`
	const command = `cat PROD.ENV sub/a.Env conf/key; mv conf c2; cat c2/key; ln sub/a.Env l; cat l; mv plain X.ENV; echo PWNED > new.eNv; echo PWNED > go.lock; mkdir d.Env; ln -s plain s.ENV; cat plain`
	for _, folds := range []bool{true, false} {
		restore := sandbox.SetFolds(folds)
		p := newPlace(t, deny, setup, sandbox.Options{})
		out, _ := p.run(command)
		restore()
		made, _ := filepath.Glob(p.root + "/[Xnds]*.[eE][nN][vV]")
		lock, _ := os.ReadFile(p.root + "/go.lock")
		if held := !strings.Contains(out, mark) && len(made) == 0 && string(lock) == "old\n" && strings.Contains(out, "fine"); held != folds {
			t.Errorf("folds %v: %q were made, %q, %s", folds, made, lock, out)
		}
	}
}

// TestLinksFromOutside: a file that rules deny outside of the workspace is denied by its hard links in there,
// and one that they do not deny is not.
func TestLinksFromOutside(t *testing.T) {
	const setup = `mkdir -p ../out/deep ../fine; echo S3CRETMARK > ../out/deep/key; echo old > ../out/locked; echo fine > ../fine/x; echo S3CRETMARK > ../home/mine;
		ln ../out/deep/key a; mkdir sub; ln ../out/deep/key sub/b; ln ../out/locked c; ln ../fine/x d; ln ../home/mine e; echo own > f; ln f g; `
	for name, c := range map[string]struct{ rules, setup, want string }{
		"denied by a folder":         {`"read_file": {"*": "allow", "OUT/**": "deny", "HOME/mine": "deny"}, "write_file": {"*": "allow", "OUT/**": "deny"}`, ``, "fine own own"},
		"denied to be read":          {`"read_file": {"*": "allow", "OUT/deep/*": "deny", "HOME/m*": "deny"}, "write_file": {"*": "allow", "OUT/locked": "deny"}`, ``, "old fine own own"},
		"denied to be changed":       {`"read_file": {"*": "allow", "OUT/deep/key": "deny", "HOME/**": "deny"}, "edit_file": {"*": "allow", "OUT/l*": "deny"}`, ``, "old fine own own"},
		"what cannot be looked at":   {`"read_file": {"*": "allow", "OUT/**": "deny"}`, `rm e; chmod 0 ../out`, "own own"},
		"too many names to look at":  {`"read_file": {"*": "allow", "OUT/**": "deny"}`, `rm e; mkdir ../out/many; (cd ../out/many; seq 1 50001 | xargs touch)`, "own own"},
		"a folder that is not there": {`"read_file": {"*": "allow", "OUT/no/**": "deny"}`, `rm a e sub/b`, "old fine own own"},
	} {
		if name == "what cannot be looked at" && os.Geteuid() == 0 {
			continue
		}
		p := newPlace(t, all, setup+c.setup, sandbox.Options{})
		out := filepath.Join(filepath.Dir(p.root), "out")
		t.Cleanup(func() { p.script(`chmod u+rwx ../out`) })
		p.input.Layers.Agents[0] = rules(t, `{"*": "allow", `+strings.NewReplacer("OUT", out, "HOME", p.home).Replace(c.rules)+`}`)
		got, _ := p.run(`cat a sub/b c d e f g 2>/dev/null | tr '\n' ' '; for f in a c d f; do echo PWNED >> $f; done 2>/dev/null; ln a h; mv c i; echo PWNED >> i; cat h`)
		if strings.Contains(got, mark) || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		p.script(`chmod u+rwx ../out; if grep -rqs PWNED ../out` + map[bool]string{true: "/nothing"}[name == "a folder that is not there"] + `; then exit 1; fi; grep -q PWNED f`)
	}
}

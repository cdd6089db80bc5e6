package sandbox_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestReplacedMeanwhile: what is replaced or made while a command runs is judged when
// the command opens it.
func TestReplacedMeanwhile(t *testing.T) {
	const setup = `echo old > .env; mkdir -p conf/prod keep locked; echo old > conf/prod/key; echo old > keep/file; echo old > plain; mkfifo go`
	for name, c := range map[string]struct{ change, command string }{
		"an editor's save":      {`echo S3CRETMARK > t; mv t .env`, `cat .env`},
		"made later":            {`echo S3CRETMARK > b.env`, `cat b.env`},
		"made in a new folder":  {`mkdir -p n/m; echo S3CRETMARK > n/m/c.env`, `cat n/m/c.env`},
		"a folder moved here":   {`mkdir ../o; echo S3CRETMARK > ../o/d.env; mv ../o here`, `cat here/d.env`},
		"a folder replaced":     {`mv conf old; mkdir -p conf/prod; echo S3CRETMARK > conf/prod/key`, `cat conf/prod/key`},
		"by another name":       {`echo S3CRETMARK > b.env; ln -s b.env l`, `cat l /proc/self/cwd/b.env /proc/$$/cwd/b.env; (cd /proc/self/cwd; cat b.env); cat 3<. /proc/self/fd/3/b.env`},
		"by a descriptor":       {`echo S3CRETMARK > b.env`, `python3 -c 'import os;print(os.read(os.open("b.env",os.O_RDONLY,dir_fd=os.open(".",os.O_PATH)),99))'; python3 -c 'import os;p=os.open("b.env",os.O_PATH);print(open("/proc/self/fd/%d"%p).read())'`},
		"for writing":           {`echo new > t; mv t keep/file`, `echo PWNED >> keep/file; python3 -c 'open("keep/file","r+").write("PWNED")'; python3 -c 'import os;os.open("keep/file",os.O_TRUNC)'`},
		"writing a new file":    {`echo new > locked/f`, `python3 -c 'open("locked/f","r+").write("PWNED")'`},
		"what is allowed works": {`echo new > t; mv t plain; echo x > fresh`, `cat plain fresh; echo more >> plain; echo more >> fresh; ls . conf > /dev/null && cat /proc/self/status /etc/mtab > /dev/null && echo fine`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, secretRules, setup, sandbox.Options{})
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			proc := p.start(w, `cat go; `+c.command+`; head -c 0 /dev/null; : < /dev/stdin; echo end`)
			w.Close()
			p.script(c.change + `; : > go`)
			out, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proc.Wait(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(out), mark) || !strings.Contains(string(out), "end") {
				t.Errorf("%s", out)
			}
			if name == "what is allowed works" && !strings.Contains(string(out), "fine") {
				t.Errorf("%s", out)
			}
			p.script(`! grep -qs PWNED keep/file locked/f`)
			if name == "for writing" {
				p.script(`grep -q new keep/file`)
			}
		})
	}
}

// TestRunMeanwhile: a program that came while the command runs, and that rules deny reading, runs by no name.
// One that they allow does.
func TestRunMeanwhile(t *testing.T) {
	const replace = `for f in tool.env old.env plain n/deep.env; do mkdir -p n; cp /bin/echo t; chmod 755 t; mv t $f; done; ln -s tool.env link; ln tool.env hard.env`
	const exec = `python3 -c 'import os,sys;fd=os.open(sys.argv[1],os.O_PATH);os.execve(fd,["echo","S3CRETMARK"],{})' `
	p := newPlace(t, secretRules, `echo old > old.env; echo old > plain`, sandbox.Options{})
	out := p.meanwhile(`for f in tool.env old.env n/deep.env link hard.env; do
			./$f S3CRETMARK; $PWD/$f S3CRETMARK; /proc/self/cwd/$f S3CRETMARK; /proc/$$/cwd/$f S3CRETMARK; (exec ./$f S3CRETMARK); nice ./$f S3CRETMARK
			`+exec+`$f; (cd n; ../$f S3CRETMARK); /lib64/ld-linux-x86-64.so.2 ./$f S3CRETMARK; bash -c "exec $PWD/$f S3CRETMARK"
		done 2>&1
		for f in /dev/fd/3 /proc/self/fd/3; do $f S3CRETMARK 3< tool.env; done
		PATH=$PWD tool.env S3CRETMARK
		./plain fine; cp /bin/echo own && ./own fine; `+strings.ReplaceAll(exec, mark, "fine")+`plain; /bin/echo fine; echo end`, replace)
	if strings.Contains(out, mark) || strings.Count(out, "\nfine\n") < 2 || strings.Count(out, "fine\n") != 4 || !strings.HasSuffix(out, "end\n") {
		t.Errorf("%s", out)
	}
}

package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
)

// TestForeignPipes: a named pipe that another program has made in a folder that is shown is opened by no command,
// unless a rule names it.
func TestForeignPipes(t *testing.T) {
	const try = `import os,sys
D=sys.argv[1]
def attempt(what,f):
    try: fd=f()
    except OSError as e: print(what,"fails:",e.strerror)
    else: os.write(fd,b"OUTMARK"); print(what,"works")
os.symlink(D+"/pipe","/tmp/l")
W=os.O_WRONLY|os.O_NONBLOCK
attempt("write",lambda: os.open(D+"/pipe",W))
attempt("append",lambda: os.open(D+"/pipe",W|os.O_APPEND))
attempt("both",lambda: os.open(D+"/pipe",os.O_RDWR))
attempt("waiting",lambda: os.open(D+"/pipe",os.O_WRONLY))
attempt("create",lambda: os.open(D+"/pipe",W|os.O_CREAT))
attempt("by a link",lambda: os.open("/tmp/l",W))
attempt("by its folder",lambda: os.open("pipe",W,dir_fd=os.open(D,os.O_PATH)))
attempt("by /proc",lambda: os.open("/proc/self/fd/%d"%os.open(D+"/pipe",os.O_PATH),W))
attempt("by /dev/fd",lambda: os.open("/dev/fd/%d"%os.open(D+"/pipe",os.O_PATH),W|os.O_CREAT))
def hard(): os.link(D+"/pipe","/tmp/h"); return os.open("/tmp/h",W)
attempt("by a hard link",hard)
try: print("read",os.read(os.open(D+"/pipe",os.O_RDONLY|os.O_NONBLOCK),9))
except OSError as e: print(e)
`
	for name, c := range map[string]struct {
		folder func(p *place, dir string)
		held   bool
	}{
		"to read":   {func(p *place, dir string) { p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Read}} }, true},
		"to write":  {func(p *place, dir string) { p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Write}} }, true},
		"as a copy": {func(p *place, dir string) { p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Copy}} }, true},
		"by a rule about files": {func(p *place, dir string) {
			p.input.Layers.Agents[0] = rules(t, fmt.Sprintf(`{"*": "allow", "write_file": {"*": "allow", "%s/**": "allow"}}`, dir))
		}, true},
		"by a rule about another": {func(p *place, dir string) {
			p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Read}}
			p.input.Layers.Agents[0] = rules(t, fmt.Sprintf(`{"*": "allow", "network": {"*": "allow", "unix:%s/other": "allow"}}`, dir))
		}, true},
		"by its rule": {func(p *place, dir string) {
			p.input.Layers.Agents[0] = rules(t, fmt.Sprintf(`{"*": "allow", "network": {"unix:%s/pipe": "allow"}}`, dir))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, all, `mkdir ../out; mkfifo -m 666 ../out/pipe ../out/other`, sandbox.Options{})
			dir := filepath.Join(filepath.Dir(p.root), "out")
			r, err := os.OpenFile(dir+"/pipe", os.O_RDWR|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			c.folder(p, dir)
			out := p.limited("python3 - " + dir + " <<'P'\n" + try + "P")
			_ = r.SetReadDeadline(time.Now())
			buf := make([]byte, 200)
			n, _ := r.Read(buf)
			if held := n == 0 && !strings.Contains(out, "works"); held != c.held {
				t.Errorf("held is %v, %q came out\n%s", held, buf[:n], out)
			}
		})
	}
}

// TestOwnPipes: the pipes that a session's commands make work wherever they are, also in a later command, and
// the one of a workspace is a file of it.
func TestOwnPipes(t *testing.T) {
	p := newPlace(t, all, `mkdir ../given; mkfifo foreign`, sandbox.Options{})
	dir := filepath.Join(filepath.Dir(p.root), "given")
	p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Write}}
	out := p.limited(`for f in p /tmp/p ~/p /dev/shm/p ` + dir + `/p; do mkfifo $f; mv $f $f.2; (echo through > $f.2 &); cat $f.2; done; echo x | cat /dev/stdin; cat <(echo sub)`)
	if strings.Count(out, "through\n") != 5 || !strings.HasSuffix(out, "x\nsub\n") {
		t.Errorf("%s", out)
	}
	if out := p.limited(`for f in p.2 /tmp/p.2 ` + dir + `/p.2 foreign; do (echo again > $f &); cat $f; done; (timeout 1 cat p.2; true) & : < /dev/null; wait; echo end`); strings.Count(out, "again\n") != 4 || !strings.HasSuffix(out, "end\n") {
		t.Errorf("%s", out)
	}
}

// TestDevices: no device in a folder that is shown can be opened.
func TestDevices(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nobody else makes one
	}
	p := newPlace(t, all, `mkdir ../out; for d in . ../out; do mknod -m 666 $d/zero c 1 5 && mknod -m 666 $d/disk b 254 0 && mknod -m 666 $d/tty c 5 0 && mknod -m 666 $d/mem c 1 1; done`, sandbox.Options{})
	dir := filepath.Join(filepath.Dir(p.root), "out")
	for _, access := range []sandbox.Access{sandbox.Read, sandbox.Write, sandbox.Copy} {
		p.input.Folders = []sandbox.Folder{{Path: dir, Access: access}}
		out := p.limited(`for d in . ` + dir + `; do for f in zero disk tty mem; do head -c 9 $d/$f && echo OPENED; : 2>/dev/null > $d/$f && echo OPENED; done; done; echo end`)
		if strings.Contains(out, "OPENED") || !strings.HasSuffix(out, "end\n") {
			t.Errorf("%s: %s", access, out)
		}
	}
}

// TestNothingWaitsForAPipe: a pipe in the place of any file that is looked at holds nobody up.
func TestNothingWaitsForAPipe(t *testing.T) {
	for _, setup := range []string{
		`git init -q .; rm .git/index; mkfifo .git/index x.env`, `mkfifo .git`, `git init -q .; rm .git/HEAD .git/config; mkfifo .git/HEAD .git/config .git/commondir`,
		`mkdir -p sub secrets; mkfifo sub/.git sub/HEAD secrets/key .gitmodules`, `mkdir -p .agents; mkfifo .agents/agents`, `mkdir bare; mkfifo bare/HEAD bare/objects bare/refs`,
	} {
		p := newPlace(t, secretRules, setup+`; mkdir ../out; mkfifo ../out/pipe ../out/x.env`, sandbox.Options{})
		p.input.Folders = []sandbox.Folder{{Path: filepath.Join(filepath.Dir(p.root), "out"), Access: sandbox.Write}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan string, 1)
		go func() { ended <- p.limited(`ls -a > /dev/null; echo x > y; rm y; echo end`) }()
		select {
		case out := <-ended:
			if !strings.HasSuffix(out, "end\n") {
				t.Errorf("%s: %s", setup, out)
			}
		case <-ctx.Done():
			t.Fatalf("%s: a command does not begin", setup)
		}
		cancel()
	}
}

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// secrets are rules and a workspace with files that they deny.
const (
	secretRules = `{"*": "allow",
		"read_file": {"*": "allow", "*.env": "deny", "secrets/**": "deny", "conf/prod/key": "deny"},
		"write_file": {"*": "allow", "*.env": "deny", "locked/**": "deny", "a/b/c.key": "deny", "keep/file": "deny"}}`
	secretSetup = `git init -q . && mkdir -p secrets conf/prod locked keep a .agents/agents &&
		for f in .env secrets/key conf/prod/key; do echo S3CRETMARK > $f; done; echo old > locked/f; echo old > keep/file; echo hi > plain
		echo x > .agents/agents/x.md`
)

// TestAttacks tries to get around the walls. No command may see the secret or
// change what is locked; each says what it is about.
func TestAttacks(t *testing.T) {
	for name, command := range map[string]string{
		"the file":                      `cat .env secrets/key conf/prod/key`,
		"another name for the folder":   `mv conf c; cat c/prod/key; mv conf/prod p; cat p/key; mv secrets s; cat s/key`,
		"exchange":                      `python3 -c 'import ctypes;print(ctypes.CDLL(None).renameat2(-100,b"conf",-100,b"a",2))'; cat a/prod/key`,
		"a hard link":                   `ln .env x; ln secrets/key y; ln -L conf/prod/key z; cat x y z`,
		"a link in the same line":       `ln -s .env l; cat l; ln -s . d; cat d/.env`,
		"proc":                          `cat /proc/self/cwd/.env /proc/self/root$PWD/.env /proc/1/root$PWD/.env /proc/1/cwd/.env /proc/$$/cwd/.env`,
		"descriptors":                   `cat 3<. /dev/fd/3/.env; ls -l /proc/self/fd /proc/1/fd; for i in 3 4 5 6 7 8 9 10; do cat <&$i; done`,
		"unmount":                       `umount .env; umount -l .env; umount secrets; cat .env`,
		"a user namespace":              `unshare -Urm sh -c 'umount .env; umount -l secrets; cat .env secrets/key'; unshare -r id; unshare -m true`,
		"bind mounts":                   `mkdir m; mount --bind . m; cat m/.env; mount -t tmpfs x m`,
		"the disk":                      `cat /dev/vda /dev/sda /dev/mem /dev/kmem | head -c 100; mknod d b 254 0; cat d`,
		"process 1":                     `cat /proc/1/environ /proc/1/maps /proc/1/mem; gdb -p 1 -batch -ex 'info proc'; kill -9 1; strace -p 1 -o /tmp/o -c true`,
		"process 1's descriptors":       `: > /proc/1/fd/3; exec 9>/proc/1/fd/3; ls -l /proc/1/fd; echo x > /proc/1/cwd/y`,
		"the kernel's settings":         `echo x > /proc/sys/kernel/core_pattern; echo 100 > /proc/sys/user/max_user_namespaces; echo b > /proc/sysrq-trigger; unshare -U true`,
		"remount":                       `mount -o remount,rw /; mount -o remount,rw,bind locked; echo x > locked/f; echo > /usr/x; echo > /etc/x`,
		"a new denied name":             `echo x > new.env; touch b.env; cp plain c.env; mv plain d.env; ln plain e.env; ln -s plain f.env; mkdir g.env; mkfifo h.env; install plain i.env; python3 -c 'open("j.env","x")'`,
		"a denied name by a socket":     `python3 -c 'import socket;s=socket.socket(socket.AF_UNIX);s.bind("k.env")'`,
		"a denied name by a temporary":  `python3 -c 'import os;f=os.open(".",os.O_TMPFILE|os.O_RDWR);os.link("/proc/self/fd/%d"%f,"t.env",follow_symlinks=True)'`,
		"a denied name through a link":  `ln -s q.env ln; echo x > ln; ln -s $PWD/r.env ln2; echo x > ln2; echo x > ./../ws/s.env`,
		"a denied name by cwd":          `mkdir sub; cd sub; echo x > ../v.env; echo x > /proc/self/cwd/../w.env; echo x > /proc/self/cwd/x.env`,
		"a denied place by a folder":    `mkdir -p q/b; touch q/b/c.key; rm -rf a; mv q a; mv q/b a; ls a/b/c.key`,
		"a denied place by a link":      `mkdir q; touch q/c.key; mkdir -p a; ln -s ../q a/b; rmdir a; ln -s q a; ln -s q l; mv l a; ls a/b/c.key`,
		"what is locked":                `echo x > locked/f; rm -f locked/f; mv locked l; touch locked/g; truncate -s0 locked/f; chmod 777 locked/f; sed -i s/o/x/ locked/f`,
		"what is kept":                  `rm -f keep/file; mv keep k; rm -rf keep; echo x > keep/file; ln -sf plain keep/file; cp plain keep/file`,
		"git's settings":                `git config core.fsmonitor 'touch hacked'; echo x >> .git/config; mv .git g; cp plain .git/hooks/pre-commit; rm -rf .git/hooks; echo ../evil > .git/commondir; mkdir s; echo 'gitdir: ../x' > s/.git; git init -q s; ln -s x s/.git`,
		"the agents":                    `echo y > .agents/agents/x.md; touch .agents/agents/y.md; rm -rf .agents; mv .agents b; mkdir b; ln -s b .agents`,
		"memory of a call":              racer,
		"the state":                     `ls ../state; cat ../state/*/tmp/*; ls -la ..`,
		"io_uring":                      `python3 -c 'import ctypes;print(ctypes.CDLL(None).syscall(425,8,None))'`,
		"a handle":                      `python3 -c 'import ctypes;print(ctypes.CDLL(None).syscall(304,3,None,0))'`,
		"32 bit":                        `printf 'int main(){int r;__asm__("int $0x80":"=a"(r):"0"(8),"b"("z.env"),"c"(0644));return r;}' > m.c && gcc -m32 m.c -o m 2>/dev/null || gcc -no-pie m.c -o m && ./m`,
		"abstract sockets and vsock":    `python3 -c 'import socket;socket.socket(40,1)'`,
		"the network":                   `curl -s -m 2 http://1.1.1.1/; curl -s -m 2 http://127.0.0.1:22; ip addr`,
		"terminal input":                `python3 -c 'import fcntl,termios;fcntl.ioctl(0,termios.TIOCSTI,"x")'`,
		"a file system by a descriptor": `python3 -c 'import ctypes;l=ctypes.CDLL(None);print(l.syscall(428,-100,b".env",1),l.syscall(430,b"tmpfs",0))'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, secretRules, secretSetup, sandbox.Options{})
			out := p.limited(command) + p.limited(`grep -rs S3CRETMARK . /tmp; cat */key x y z l`)
			if strings.Contains(out, mark) {
				t.Errorf("the secret is out:\n%s", out)
			}
			if found := p.check(); found != "" {
				t.Errorf("%s\n%s", found, out)
			}
		})
	}
}

// racer changes the path of a call in memory while the call is judged.
const racer = `cat > r.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static char path[16] = "ok.txt";
static void *swap(void *x) { for (;;) { memcpy(path, "no.env", 7); memcpy(path, "ok.txt", 7); } }
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, swap, 0);
	for (int i = 0; i < 600; i++) { int f = open(path, O_CREAT|O_WRONLY, 0644); if (f >= 0) close(f); unlink("ok.txt"); }
	return 0;
}
C
gcc -pthread r.c -o r && ./r`

// check returns the changes of the workspace that no rule allows.
func (p *place) check() string {
	var found []string
	for path, want := range map[string]string{
		".env": "S3CRETMARK\n", "secrets/key": "S3CRETMARK\n", "conf/prod/key": "S3CRETMARK\n", "locked/f": "old\n", "keep/file": "old\n",
		".agents/agents/x.md": "x\n",
	} {
		if got, err := os.ReadFile(filepath.Join(p.root, path)); string(got) != want {
			found = append(found, fmt.Sprintf("%s is %q, %v", path, got, err))
		}
	}
	for _, pattern := range []string{"*.env", "*/*.env", "a/b/c.key", "locked/g", ".git/hooks/pre-commit", ".git/commondir", "s/.git", ".agents/agents/y.md", "../*.env", "hacked"} {
		matches, _ := filepath.Glob(filepath.Join(p.root, pattern))
		for _, m := range matches {
			if filepath.Base(m) == ".env" {
				continue // it was there
			}
			found = append(found, m+" is there")
		}
	}
	if config, _ := os.ReadFile(filepath.Join(p.root, ".git/config")); strings.Contains(string(config), "fsmonitor") {
		found = append(found, "git's settings are changed")
	}
	return strings.Join(found, "\n")
}

// TestHardLinks holds a denied file by each of its names.
func TestHardLinks(t *testing.T) {
	p := newPlace(t, secretRules, secretSetup+`; ln .env other; ln locked/f open; mkdir d; ln -s ../.env d/link; ln -s real named.env; echo S3CRETMARK > real`, sandbox.Options{})
	out, _ := p.run(`cat other d/link real named.env; echo x > open; cat open`)
	if strings.Contains(out, mark) || !strings.HasSuffix(out, "old\n") {
		t.Errorf("%s", out)
	}
}

// TestReadOnly sees a session without write rights leave no trace.
func TestReadOnly(t *testing.T) {
	p := newPlace(t, `{"read_file": "allow", "shell_exec": "allow"}`, `echo a > a`, sandbox.Options{})
	out, _ := p.run(`cat a; echo b > a; touch b; mkdir c; rm a; echo t > /tmp/t && cat /tmp/t`)
	entries, _ := os.ReadDir(p.root)
	if !strings.HasPrefix(out, "a\n") || !strings.HasSuffix(out, "t\n") || len(entries) != 1 {
		t.Errorf("%v\n%s", entries, out)
	}
	p.input.Approved = true // a person has said yes to this one call
	p.run(`echo b > b`)
	if _, err := os.Stat(filepath.Join(p.root, "b")); err != nil {
		t.Error(err)
	}
}

// TestNothingStays ends what sets itself apart, when the command ends and when
// it is killed.
func TestNothingStays(t *testing.T) {
	p := newPlace(t, all, "", sandbox.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const apart = `setsid sleep 1000 & (setsid sh -c 'sleep 1000 & ' &) ; set -m; sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & disown -a; echo ready;`
	for _, end := range []string{"exit 0", "sleep 1000"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		proc, err := p.session.Start(ctx, &sandbox.Command{Profile: sandbox.NewProfile(p.input), Args: []string{"bash", "-c", apart + end}, Env: os.Environ(), Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReaderSize(r, 16).ReadString('\n')
		if err != nil || line != "ready\n" {
			t.Fatal(line, err)
		}
		if end != "exit 0" {
			cancel()
		}
		_, _ = proc.Wait()
	}
	w.Close()
	// Whoever is left has the pipe.
	if rest, err := bufio.NewReader(r).ReadString('\n'); err == nil {
		t.Errorf("something is left: %q", rest)
	}
}

// TestSignal ends a command by a signal.
func TestSignal(t *testing.T) {
	p := newPlace(t, all, "", sandbox.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proc := p.start(w, `trap 'echo term; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	w.Close()
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	if err := proc.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	state, err := proc.Wait()
	if err != nil || state.ExitCode() != 7 || state.String() != "exit status 7" {
		t.Errorf("%v, %v", state, err)
	}
}

// TestLoopback lets a call reach a server that another call of the session runs.
func TestLoopback(t *testing.T) {
	p := newPlace(t, all, `echo page > index.html`, sandbox.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	server := p.start(w, `python3 -u -c '
import http.server
s = http.server.HTTPServer(("127.0.0.1", 8765), http.server.SimpleHTTPRequestHandler)
print("ready")
s.serve_forever()'`)
	w.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	if out, _ := p.run(`curl -s http://127.0.0.1:8765/index.html; cat /tmp/x; echo y > /tmp/x`); !strings.HasPrefix(out, "page\n") {
		t.Errorf("%s", out)
	}
	if out, _ := p.run(`cat /tmp/x`); out != "y\n" {
		t.Errorf("/tmp does not last: %s", out)
	}
	other := newPlace(t, all, "", sandbox.Options{})
	if out, _ := other.run(`curl -s -m 5 http://127.0.0.1:8765/index.html; cat /tmp/x 2>/dev/null || echo none`); out != "none\n" {
		t.Errorf("another session reaches it: %s", out)
	}
	server.Kill()
	if _, err := server.Wait(); err == nil {
		t.Error("no error of a killed command")
	}
}

// TestProxy reaches the hosts that are allowed, and no others.
func TestProxy(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.URL.Path) }))
	defer web.Close()
	host := web.Listener.Addr().String()
	asked := make(chan string, 100)
	p := newPlace(t, `{"*": "allow"}`, "", sandbox.Options{Network: func(_ context.Context, hostport, _ string) error {
		asked <- hostport
		if hostport == host {
			return nil
		}
		return errors.New("the rule network: {\"*\": deny} denies it")
	}})
	for name, command := range map[string]string{
		"http":    `curl -s --noproxy '' http://` + host + `/a`,
		"connect": `curl -s --noproxy '' -p http://` + host + `/a`,
		"socks":   `unset http_proxy HTTP_PROXY; curl -s --noproxy '' -x $ALL_PROXY http://` + host + `/a`,
	} {
		if out, _ := p.run(command); out != "hello /a" {
			t.Errorf("%s: %q", name, out)
		}
		if got := <-asked; got != host {
			t.Errorf("%s asked for %q", name, got)
		}
	}
	out, _ := p.run(`curl -s http://example.com/; curl -s -o /dev/null -w '%{http_connect}\n' https://example.com/; curl -s --noproxy '*' -m 3 http://` + host + `/ || echo direct fails`)
	if !strings.Contains(out, "denies it") || !strings.Contains(out, "403") || !strings.HasSuffix(out, "direct fails\n") {
		t.Errorf("%s", out)
	}
	for _, want := range []string{"example.com:80", "example.com:443"} {
		if got := <-asked; got != want {
			t.Errorf("asked for %q, want %q", got, want)
		}
	}
	none := newPlace(t, `{"read_file": "allow"}`, "", sandbox.Options{})
	if out, _ := none.run(`env | grep -i _proxy=; curl -s -m 3 http://` + host + `/ || echo none`); out != "none\n" {
		t.Errorf("%s", out)
	}
}

// TestEnvironment holds secrets and descriptors back.
func TestEnvironment(t *testing.T) {
	got := sandbox.Environ([]string{"PATH=/bin", "OPENAI_API_KEY=x", "MY_TOKEN_2=x", "KEYBOARD=us", "WORKER_NATS=x", "SSH_AUTH_SOCK=x", "KEPT_TOKEN=k", "LANG=C", "DROP=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"},
		sandbox.EnvRules{Keep: []string{"KEPT_TOKEN"}, Drop: []string{"DROP"}}, "/ws")
	want := "PATH=/bin KEYBOARD=us KEPT_TOKEN=k LANG=C GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c GIT_CONFIG_KEY_1=safe.bareRepository GIT_CONFIG_VALUE_1=explicit GIT_CONFIG_KEY_2=core.checkStat GIT_CONFIG_VALUE_2=minimal GIT_CONFIG_KEY_3=core.trustctime GIT_CONFIG_VALUE_3=false GIT_CONFIG_COUNT=4 PWD=/ws TMPDIR=/tmp"
	if got = withoutQuiet(got); strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	p := newPlace(t, all, `git init -q --bare evil; git init -q .`, sandbox.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, _ := p.run(`cd evil && git status; ls /proc/self/fd | wc -l`)
	if !strings.Contains(out, "safe.bareRepository") || !strings.HasSuffix(out, "\n4\n") { // 0, 1, 2 and the folder's own
		t.Errorf("%s", out)
	}
}

// TestSetID: no command leaves a program that runs with the rights of its file's owner or group.
func TestSetID(t *testing.T) {
	p := newPlace(t, all, `git init -q .; echo x >plain`, sandbox.Options{})
	for _, command := range []string{
		`cp /usr/bin/id a && chmod 4755 a`, `cp /usr/bin/id b && chmod u+s b`, `cp /usr/bin/id c && chmod 2755 c`, `install -m 4755 /usr/bin/id d`, `mkdir e && chmod g+s e`,
		`python3 -c 'import os; os.close(os.open("f", os.O_CREAT|os.O_WRONLY, 0o4777))'`,
		`python3 -c 'import os; os.mknod("g", 0o106755)'`,
		`python3 -c 'import os; h = os.open(".", os.O_TMPFILE|os.O_RDWR, 0o4755); os.link("/proc/self/fd/%d" % h, "h", follow_symlinks=True)'`,
		`python3 -c 'import ctypes; l = ctypes.CDLL(None); open("i", "w"); l.syscall(452, -100, b"i", 0o4755, 0); l.syscall(268, -100, b"i", 0o4755)'`,
		`touch l; setfacl -m u::rwx l; setcap cap_setuid+ep l; python3 -c 'import os; os.setxattr("l", "security.capability", b"\x01\x00\x00\x02\x80" + b"\0" * 15)'; getcap l | sed 's/.*/chmod 4755 l/' | sh`,
		`mkdir m; cp /usr/bin/id m/x; chmod 755 m/x; tar cf m.tar --mode=6755 m; rm -r m; tar xpf m.tar`,
		`python3 -c 'import os, shutil; shutil.copy2("/usr/bin/passwd", "n"); os.mkdir("o", 0o6755); os.mkfifo("q", 0o4666)'`,
		`cp -a /usr/bin/passwd r; cp -p /usr/bin/su s; ln /usr/bin/su u; rsync -p /usr/bin/su v; cpio -pdm . <<< /usr/bin/su`,
		`python3 -c 'import os; fd = os.open("j", os.O_CREAT|os.O_WRONLY, 0o755); os.fchmod(fd, 0o6755)'`,
	} {
		out, _ := p.run(command)
		found, _ := p.run(`find . /tmp -perm /6000`)
		if found = strings.TrimSpace(found); found != "" {
			t.Errorf("%s\n%s\nleaves %s", command, out, found)
		}
	}
	p.script(`cp /usr/bin/id old && chmod 6755 old`) // of somebody else
	out, _ := p.run(`ls -l old; cat plain > old; echo >> old; truncate -s 3 old; python3 -c 'f = open("old", "r+"); f.write("x")'`)
	if info, err := os.Stat(filepath.Join(p.root, "old")); err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		t.Errorf("a program with the bit was written to: %v %v\n%s", info.Mode(), err, out)
	}
	if out, _ := p.run(`chmod 755 plain && mkdir k && chmod 1777 k && stat -c %a plain k`); out != "755\n1777\n" {
		t.Errorf("other modes: %q", out)
	}
}

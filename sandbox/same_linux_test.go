package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
)

// TestSame runs what the supervisor does in a command's place beside the same
// without a sandbox: both must write the same.
func TestSame(t *testing.T) {
	for name, command := range map[string]string{
		"make and read":       `echo a > f; cat f; echo b >> f; cat f; : > f; wc -c < f`,
		"umask":               `umask 027; touch f; mkdir d; mkfifo p; stat -c %a f d p; (umask 0; touch g; stat -c %a g); install -m 640 f h; stat -c %a h`,
		"exclusive":           `set -C; echo a > f; echo b > f; cat f; python3 -c 'import os;os.open("f",os.O_CREAT|os.O_EXCL)' 2>&1 | tail -1; mkdir f; mkdir d; mkdir d 2>&1`,
		"links":               `echo a > f; ln -s f l; echo b > l; cat f; ln -s no x; echo c > x; cat no; ln f g; echo d > g; cat f; stat -c %h f; ln -s loop loop; echo > loop; readlink l x; ln -s f l`,
		"links of folders":    `mkdir -p a/b; ln -s a/b s; echo x > s/f; cat a/b/f; cd s; echo y > ../g; cat ../g; cd ..; ls a; cp -r a c; ls c c/b; echo > a/b/../h; ls a`,
		"rename":              `echo a > f; mv f g; cat g; mkdir d; mv g d; ls d; mv d e; ls e; mkdir x y; mv x y; ls y; mv -T e y; echo $?; mv y/x y; mv nothere z; mv . z; mv y y/x`,
		"exchange":            `echo a > a; echo b > b; python3 -c 'import ctypes;print(ctypes.CDLL(None).renameat2(-100,b"a",-100,b"b",2))'; cat a b`,
		"attributes":          `mkdir d; touch f; chmod 600 f; stat -c %a f; chmod +x f; ln -s f l; chmod 640 l; stat -c %a f; touch -h -d @5 l; stat -c %Y l; touch -d @7.5 f; stat -c %y f; touch -h -d @6 f; stat -c %Y f; truncate -s 10 f; stat -c %s f; chown $(id -u):$(id -g) f; chown -h $(id -u) l; cp -p f g; stat -c %a g; [ ! f -nt g -a ! g -nt f ] && echo kept; chmod 755 d; touch -d @9 d; stat -c '%a %Y' d; chmod 1 nothere; truncate -s 5 d; touch f/x; chmod 1 f/x; touch -d @3 f/; chmod 700 d/.; setfacl -m u::rw f; python3 -c '` + attributes + `'`,
		"remove":              `touch a b c; mkdir -p d/e x; ln -s d l; ln -s no m; rm a m; rm nothere; rm -d x; rmdir d; rmdir l; rmdir l/e/; rmdir b; unlink d; unlink c/; unlink l; rm -f nothere; rm -r d; rmdir .; rmdir ..; mkdir y; cd y; rmdir ../y; touch z; ls; cd ..; ls; chmod 555 .; rm b 2>/dev/null; chmod 755 .; python3 -c 'import os; f=os.open(".",os.O_PATH); open("k","w"); os.unlink("k",dir_fd=f); os.mkdir("k"); os.rmdir("k",dir_fd=f)'; ls`,
		"pipes":               `mkfifo p; echo through > p & cat p; wait; cat < p & echo again > p; wait; (echo sub) | cat; cat <(echo one) <(echo two); echo x | tee >(cat > q) >/dev/null; mkfifo r; exec 7<>r; echo z >&7; read l <&7; echo $l`,
		"descriptors":         `echo a > /dev/stdout; echo b > /dev/stderr; echo c > /proc/self/fd/1; exec 5>f; echo d > /dev/fd/5; cat f; echo e > /dev/null; echo > /dev/full; exec 5>&-; (echo > /dev/fd/5) 2>&1 | grep -c "No such"`,
		"here":                "cat <<X\na\nX\ncat <<< b",
		"temporary":           `python3 -c 'import tempfile;f=tempfile.TemporaryFile(dir=".");f.write(b"x");f.seek(0);print(f.read())'; f=$(mktemp ./XXXX); echo y > $f; cat $f; d=$(mktemp -d); echo z > $d/f; cat $d/f`,
		"a file without name": `python3 -c '` + noName + `'; cat t`,
		"sockets":             `python3 -c '` + sockets + `'; ls; rm s`,
		"in /tmp":             `cd $(mktemp -d) && echo a > .env && mkdir .git && ln -s .env x && cat x && mv x y && cat y && git init -q r && ls -a r`,
		"slashes":             `mkdir d/; touch e/; echo > f/; mkdir -p a/b/c/; mv a/ b/; ls b/; ln -s x y/; mkdir .; mkdir ..; touch .`,
		"errors":              `echo > nothere/f; touch f; mkdir f/d; echo > f/g; mkdir -p d; echo > d; python3 -c 'import os;os.mkdir("x"*300)' 2>&1 | tail -1; chmod 555 d; cat nothere`,
		"tar":                 `mkdir -p a/b; echo x > a/b/c; ln a/b/c a/d; ln -s c a/b/l; tar cf a.tar a; rm -r a; tar xf a.tar; ls -R a; cat a/d a/b/l; gzip a.tar; gunzip a.tar.gz; ls`,
		"git":                 `git add . && git -c user.name=a -c user.email=a@b commit -qm "x" && git log --format=%s; git checkout -qb b/c; echo x > f; git add f; git stash -q; git stash pop -q; git status -s; git mv f g; git tag v1; git gc -q; git worktree list | wc -l; git rm -qf g; git diff --stat HEAD`,
		"threads":             `python3 -c '` + threads + `'`,
		"a terminal":          `script -qec 'echo a > /dev/tty; tty | grep -c pts' /dev/null | tr -d '\r'`,
		"no terminal":         `(echo > /dev/tty) 2>&1 | grep -c 'No such device'`,
		"processes":           `sleep 100 & kill $!; wait $! 2>/dev/null; echo $?; (exit 3); echo $?; nice true; timeout 5 true; echo $?; setsid echo s; nohup echo n 2>/dev/null`,
		"gcc and make":        `printf 'int puts(const char*);int main(){puts("made");}' > m.c; printf 'm: m.c\n\tgcc -o m m.c\n' > Makefile; make -s && ./m; make -s; touch m.c; make -s`,
		"node":                `node -e 'const fs=require("fs");fs.mkdirSync("a/b",{recursive:true});fs.writeFileSync("a/f","x");fs.renameSync("a/f","a/g");fs.cpSync("a","c",{recursive:true});fs.symlinkSync("a","l");console.log(fs.readdirSync("c"),fs.readFileSync("l/g","utf8"));fs.rmSync("a",{recursive:true});fs.appendFileSync("z","1");console.log(fs.existsSync("l/g"))'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, secretRules, `git init -qb main . && git -c user.name=a -c user.email=a@b commit -qm root --allow-empty`, sandbox.Options{})
			got := p.limited("exec 2>&1; " + command)
			bare := newPlace(t, secretRules, `git init -qb main . && git -c user.name=a -c user.email=a@b commit -qm root --allow-empty`, sandbox.Options{})
			if want := bare.outside("exec 2>&1; " + command); got != want {
				t.Errorf("inside:\n%s\noutside:\n%s", got, want)
			}
		})
	}
}

// outside runs a command without a sandbox, with an environment as inside.
func (p *place) outside(command string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = p.root
	cmd.Env = append(sandbox.Environ(os.Environ(), sandbox.EnvRules{}, p.root), "HOME="+p.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

const noName = `import os
f = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(f, b"named\n")
os.link("t0", "t1") if os.path.exists("t0") else None
import ctypes
print(ctypes.CDLL(None).linkat(-100, ("/proc/self/fd/%d" % f).encode(), -100, b"t", 0x400))`

const attributes = `import os, ctypes
l = ctypes.CDLL(None, use_errno=True)
def call(f, *a, **k):
    try: print(f.__name__, f(*a, **k))
    except OSError as e: print(f.__name__, e.strerror)
os.chmod("f", 0o600); f = os.open("f", os.O_RDONLY); w = os.open("f", os.O_WRONLY); o = os.open("f", os.O_PATH); r, s = os.pipe()
call(os.setxattr, "f", "user.a", b"x\0y" * 700); print(len(os.getxattr(f, "user.a"))); call(os.setxattr, "l", "user.b", b""); call(os.listxattr, "f")
call(os.setxattr, "f", "user.a", b"x", os.XATTR_CREATE); call(os.setxattr, "f", "user.n", b"x", os.XATTR_REPLACE); call(os.setxattr, "l", "user.c", b"x", follow_symlinks=False)
call(os.setxattr, "f", "nothing", b"x"); call(os.setxattr, "f", "user." + "x" * 300, b"x"); call(os.setxattr, "f", "user.big", b"x" * 70000); call(os.removexattr, "f", "user.a"); call(os.removexattr, "f", "user.a"); call(os.removexattr, "l", "user.b")
call(os.setxattr, w, "user.d", b"z"); call(os.getxattr, "f", "user.d"); call(os.fchmod, f, 0o640); call(os.fchmod, r, 0o600); call(os.fchmod, 99, 0o600); call(os.fchown, f, -1, -1); call(os.chown, "f", -1, -1)
call(os.utime, f, (4, 5)); call(os.utime, "f", ns=(7, 8)); print(os.stat("f").st_mtime_ns); call(os.utime, "f", None); print(os.stat("f").st_mtime > 9e8); call(os.utime, "l", (1, 2), follow_symlinks=False); print(os.lstat("l").st_mtime)
call(os.truncate, "f", 3); call(os.truncate, "f", -1); call(os.truncate, "nothere", 1); call(os.truncate, w, 2); print(os.stat("f").st_size); call(os.chmod, "", 1); call(os.unlink, ""); call(os.chmod, "x" * 5000, 1); call(os.chmod, "/dev/fd/%d" % f, 0o606); print(oct(os.stat("f").st_mode))
for a in ((452, -100, b"f", 0o604, 0), (452, -100, b"l", 0o604, 0x100), (452, -100, b"f", 1, 7), (452, 99, b"f", 1, 0), (452, -100, None, 1, 0)): print(l.syscall(*a), ctypes.get_errno())`

const sockets = `import socket, threading
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen()
def serve():
    c, _ = s.accept(); c.send(b"unix"); c.close()
threading.Thread(target=serve).start()
c = socket.socket(socket.AF_UNIX); c.connect("s"); print(c.recv(9))
i = socket.socket(); i.bind(("127.0.0.1", 0)); i.listen(); print(i.getsockname()[0])
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("", 0))
a = socket.socket(socket.AF_UNIX); a.bind(b"\0x%d" % id(a)); print("abstract")
try: socket.socket(socket.AF_UNIX).bind("s")
except OSError as e: print(e)`

const threads = `import threading, os
def work(n):
    for i in range(50):
        p = "f%d-%d" % (n, i)
        open(p, "w").write(p); os.rename(p, p + "x"); os.mkdir(p); assert open(p + "x").read() == p
ts = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(len(os.listdir(".")))`

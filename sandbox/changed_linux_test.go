package sandbox_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentworker/worker/sandbox"
)

// meanwhile starts a command that waits in "read", changes the workspace, lets the command go on and
// returns what it wrote.
func (p *place) meanwhile(command, change string) string {
	p.t.Helper()
	return p.between("", change, command)
}

// between changes the workspace between two parts of a command, and returns what they wrote.
func (p *place) between(first, change, then string) string {
	p.t.Helper()
	in, goOn, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	proc, err := p.session.Start(p.t.Context(), &sandbox.Command{
		Profile: sandbox.NewProfile(p.input), Args: []string{"bash", "-c", first + "\necho; read; " + then},
		Env:   append(sandbox.Environ(os.Environ(), sandbox.EnvRules{}, p.root), "HOME="+p.home),
		Stdin: in, Stdout: w, Stderr: w,
	})
	in.Close()
	w.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	var ready [1]byte
	if _, err := out.Read(ready[:]); err != nil || ready[0] != '\n' {
		p.t.Fatalf("%q, %v", ready, err)
	}
	p.script(change)
	goOn.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := proc.Wait(); err != nil {
		p.t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// changes tries each call that changes a file on those of its arguments, and says which worked.
const changes = `import os,sys,ctypes,stat,platform
l=ctypes.CDLL(None,use_errno=True); b=lambda s: s.encode()
EMPTY,FOLLOW=0x1000,0x400
def call(nr,*a):
    if l.syscall(nr,*a)<0: raise OSError(ctypes.get_errno(),"")
zero=ctypes.create_string_buffer(64)
def names(p):
    d,n=os.path.split(os.path.abspath(p))
    link="/tmp/l%d"%os.getpid()
    if os.path.lexists(link): os.unlink(link)
    os.symlink(os.path.abspath(p),link)
    yield "plainly",p,{}
    yield "absolutely",os.path.abspath(p),{}
    yield "dotted","./x/../"+p if os.path.isdir("x") else "././"+p,{}
    yield "by its folder",n,{"dir_fd":os.open(d,os.O_RDONLY)}
    yield "by its held folder",n,{"dir_fd":os.open(d,os.O_PATH)}
    yield "by a link",link,{}
    yield "by /proc","/proc/self/cwd/"+p,{}
    yield "by a held descriptor","/proc/self/fd/%d"%os.open(p,os.O_PATH),{}
def attributes(p,k):
    yield "chmod",lambda: os.chmod(p,0o640,**k)
    yield "chown",lambda: os.chown(p,os.getuid(),os.getgid(),**k)
    yield "utime",lambda: os.utime(p,(1,1),**k)
    yield "touch",lambda: os.utime(p,None,**k)
    yield "fchmodat2",lambda: call(452,k.get("dir_fd",-100),b(p),0o604,0)
    if not k:
        yield "truncate",lambda: os.truncate(p,1)
        yield "setxattr",lambda: os.setxattr(p,"user.x",b"y")
        yield "removexattr",lambda: os.removexattr(p,"user.x")
        if platform.machine()=="x86_64":
            yield "old chmod",lambda: call(90,b(p),0o604)
            yield "old chown",lambda: call(92,b(p),os.getuid(),-1)
            yield "old truncate",lambda: call(76,b(p),ctypes.c_long(1))
            yield "old utime",lambda: call(132,b(p),zero)
            yield "old utimes",lambda: call(235,b(p),zero)
            yield "old futimesat",lambda: call(261,-100,b(p),zero)
            yield "open and cut",lambda: os.close(os.open(p,os.O_WRONLY|os.O_TRUNC))
def unfollowed(p):
    yield "lchown",lambda: os.chown(p,os.getuid(),-1,follow_symlinks=False)
    yield "lutime",lambda: os.utime(p,(2,2),follow_symlinks=False)
    yield "lsetxattr",lambda: os.setxattr(p,"user.z",b"y",follow_symlinks=False)
    yield "lremovexattr",lambda: os.removexattr(p,"user.z",follow_symlinks=False)
def descriptors(p):
    f=os.open(p,os.O_PATH)
    yield "empty fchmodat2",lambda: call(452,f,b"",0o640,EMPTY)
    yield "empty fchownat",lambda: call(260 if platform.machine()=="x86_64" else 54,f,b"",os.getuid(),-1,EMPTY)
    yield "empty utimensat",lambda: call(280 if platform.machine()=="x86_64" else 88,f,b"",zero,EMPTY)
    args=ctypes.create_string_buffer(16); v=ctypes.create_string_buffer(b"y")
    import struct; args.raw=struct.pack("QII",ctypes.addressof(v),1,0)
    yield "empty setxattrat",lambda: call(463,f,b"",EMPTY,b"user.y",args,16)
    yield "setxattrat",lambda: call(463,-100,b(p),0,b"user.y",args,16)
    yield "removexattrat",lambda: call(466,-100,b(p),0,b"user.y")
    yield "file_setattr",lambda: call(469,-100,b(p),zero,32,0)
    try: r=os.open(p,os.O_RDONLY)
    except OSError: return
    yield "fchmod",lambda: os.fchmod(r,0o640)
    yield "fchown",lambda: os.fchown(r,os.getuid(),-1)
    yield "futimens",lambda: os.utime(r,(3,3))
    yield "fsetxattr",lambda: os.setxattr(r,"user.w",b"y")
    yield "fremovexattr",lambda: os.removexattr(r,"user.w")
    import fcntl
    yield "SETFLAGS",lambda: fcntl.ioctl(r,0x40086602,b"\x40\0\0\0\0\0\0\0")
    yield "FSSETXATTR",lambda: fcntl.ioctl(r,0x401c5820,bytes(28))
def removals(p):
    def over(): open("x/o","w").close(); os.rename("x/o",p)
    def moved(): open("o","w").close(); os.rename("o",p)
    def swapped(): open("o","w").close(); call(316 if platform.machine()=="x86_64" else 276,-100,b"o",-100,b(p),2)
    yield "link",lambda: (os.link(p,"hard"),os.unlink("hard"))
    yield "rename away",lambda: (os.rename(p,"away"),os.rename("away",p))
    yield "exchange",swapped
    yield "rename over",moved
    yield "copy over",over
    yield "unlink",lambda: (os.unlink(p),open(p,"w").close())
    yield "rmdir",lambda: os.rmdir(p)
    yield "unlinkat",lambda: os.unlink(os.path.basename(p),dir_fd=os.open(os.path.dirname(p) or ".",os.O_PATH))
def attempt(p,how,what,f):
    try: f()
    except OSError as e: sys.argv[1]=="all" and print(p,how,what,"fails:",e)
    else: print(p,how,what,"works")
for p in sys.argv[2:]:
    for how,q,k in names(p):
        for what,f in attributes(q,k): attempt(p,how,what,f)
    for what,f in unfollowed(p): attempt(p,"",what,f)
    for what,f in descriptors(p): attempt(p,"",what,f)
    for what,f in removals(p): attempt(p,"",what,f)
`

// unchanged returns what tells versions of a file apart.
func unchanged(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	return fmt.Sprint(st.Ino, st.Size, st.Mode, st.Uid, st.Gid, st.Nlink, st.Mtim, st.Ctim)
}

// TestReplacedIsNotChanged: no call changes a file that rules hide or make read-only and that came
// while the command runs, by whatever path. All calls change one that rules allow.
func TestReplacedIsNotChanged(t *testing.T) {
	const setup = `mkdir -p x keep locked; for f in .env keep/file locked/f plain; do echo old > $f; done; cat > /dev/null`
	const replace = `for f in .env keep/file b.env locked/f locked/g plain fresh; do echo new > t; chmod 644 t; mv t $f; done
		mkdir n; mv n m; echo new > m/c.env`
	held := []string{".env", "keep/file", "b.env", "locked/f", "locked/g", "m/c.env"}
	p := newPlace(t, secretRules, setup, sandbox.Options{})
	before := make(map[string]string)
	script := `python3 - held ` + strings.Join(held, " ") + ` <<'P'` + "\n" + changes + "P\n"
	out := p.meanwhile(script, replace+"\nsync -f .")
	for _, path := range held {
		text, err := os.ReadFile(filepath.Join(p.root, path))
		if before[path] = unchanged(t, filepath.Join(p.root, path)); string(text) != "new\n" || err != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if strings.Contains(out, "works") || strings.Contains(out, "Traceback") {
		t.Errorf("%s", out)
	}
	if out := p.limited(script); strings.Contains(out, "works") { // and by mounts
		t.Errorf("%s", out)
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after := unchanged(t, filepath.Join(p.root, path)); after != before[path] {
			t.Errorf("%s: %s, was %s", path, after, before[path])
		}
	}
	p = newPlace(t, secretRules, setup, sandbox.Options{})
	out = p.meanwhile(`python3 - all plain fresh <<'P'`+"\n"+changes+"P\n", replace)
	for line := range strings.Lines(out) {
		if strings.Contains(line, "fails:") && !slices.ContainsFunc([]string{"rmdir", "SETFLAGS", "FSSETXATTR", "xattrat", "file_setattr"}, func(what string) bool { return strings.Contains(line, what) }) {
			t.Errorf("what is allowed: %s", line)
		}
	}
	if strings.Count(out, "works") < 120 {
		t.Errorf("%s", out)
	}
}

// TestReplacedOwn: a command removes what it has made itself, but not what rules protect that came to the same place.
func TestReplacedOwn(t *testing.T) {
	p := newPlace(t, secretRules, `mkdir old; echo x > old/f`, sandbox.Options{})
	out := p.between(`mkdir d e; echo x > .agents; echo x > d/f; echo x > g; ln -s g l; mv g h; ln h i`,
		`ln -sfn d .agents; for f in d/f old/f h; do echo new > t; mv t $f; done; echo new > d/b.env; echo new > old/b.env; rmdir e; ln -s d e`,
		`rm .agents && echo removed; rm d/b.env && echo removed; rm old/b.env && echo removed
		rm d/f l h i e old/f && echo end`)
	if strings.Contains(out, "removed") || !strings.HasSuffix(out, "end\n") {
		t.Errorf("%s", out)
	}
	for _, path := range []string{".agents", "d/b.env", "old/b.env"} {
		if _, err := os.Lstat(filepath.Join(p.root, path)); err != nil {
			t.Error(err)
		}
	}
}

// racedOpen opens a path that another thread changes between one that the kernel would open itself and one
// that came meanwhile.
const racedOpen = `cat > r.c <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char path[32]; static const char *good; static volatile int over;
static void *swap(void *x) { while (!over) { memcpy(path, "b.env", 6); memcpy(path, good, strlen(good) + 1); } return 0; }
int main(int argc, char **argv) {
	for (int k = 2; k < argc; k++) {
		pthread_t t; char buf[64]; int opened = 0;
		good = argv[k]; over = 0; strcpy(path, good);
		pthread_create(&t, 0, swap, 0);
		for (int i = 0; i < atoi(argv[1]); i++) {
			int f = open(path, O_RDONLY|O_NONBLOCK);
			if (f < 0) continue;
			memset(buf, 0, sizeof buf);
			if (read(f, buf, sizeof buf - 1) > 0 && strstr(buf, "S3CRETMARK")) printf("%s by %s\n", "S3CRETMARK", good);
			close(f); opened++;
		}
		over = 1; pthread_join(t, 0);
		if (!opened) printf("%s was never opened\n", good);
	}
	puts("end");
}
C
gcc -pthread -o r r.c && mkfifo pipe && `

// TestRacedOpen: a program that changes the path of its own open does not reach a file that came meanwhile.
func TestRacedOpen(t *testing.T) {
	p := newPlace(t, secretRules, `ln -s /proc/self/stat own; echo fine > plain`, sandbox.Options{})
	out := p.meanwhile(racedOpen+"./r "+strconv.Itoa(rounds(1000, 10_000))+" /proc/self/status pipe /dev/null plain own /proc/self/exe /proc/mounts", `echo S3CRETMARK > b.env`)
	if out != "end\n" {
		t.Errorf("%s", out)
	}
}

// TestKernelFiles: files below /proc are those of the caller, by whatever name, and tell nothing of process 1 of the
// sandbox that it would not tell.
func TestKernelFiles(t *testing.T) {
	p := newPlace(t, all, `ln -s /proc/self/stat own`, sandbox.Options{})
	out := p.limited(`python3 -c '
import os
me=str(os.getpid())
def first(p): return open(p).read().split()[0]
for p in ("/proc/self/stat","/proc/%s/stat"%me,"own","/proc/thread-self/stat","/proc/self/task/%s/stat"%me,"/proc/self/../self/stat"): assert first(p)==me, p
os.chdir("/proc"); assert first("self/stat")==me; os.chdir("/proc/self"); assert first("stat")==me
d=os.open("/proc/self",os.O_RDONLY); assert os.read(os.open("stat",os.O_RDONLY,dir_fd=d),9).split()[0]==me.encode()
assert "PATH" in open("/proc/self/environ").read() and open("/proc/self/maps").read() and open("/proc/self/mem","rb").seek(0)==0
assert open("/proc/self/exe","rb").read(4)==b"\x7fELF" and str(d) in os.listdir("/proc/self/fd") and os.listdir("/proc/self/task")==[me] and os.listdir("/proc/self/ns")
for p in ("/proc/meminfo","/proc/mounts","/proc/self/mountinfo","/proc/net/dev","/proc/1/stat","/proc/1/cmdline","/proc/1/status","/proc/sys/kernel/ostype","/etc/mtab","/proc/self/ns/net","/proc/cpuinfo"): os.close(os.open(p,os.O_RDONLY))
def no(p,f=os.O_RDONLY):
    try: os.open(p,f)
    except OSError: return
    print("opened",p)
threads=[t for t in range(1,40) if os.path.exists("/proc/%d"%t) and open("/proc/%d/status"%t).read().split("Tgid:")[1].split()[0]=="1"]
for t in threads:
    for f in ("mem","environ","maps","smaps","auxv","pagemap","fd","fdinfo","map_files","exe","cwd","root","task/%d/mem"%t,"task/%d/environ"%t,"io","syscall","stack","personality"): no("/proc/%d/%s"%(t,f))
    no("/proc/%d/mem"%t,os.O_RDWR); no("/proc/%d/task/1/maps"%t); no("/proc/1/task/%d/fd"%t)
print("end")'; sleep 100 & ps aux | grep -c ps; head -c 20 /proc/$!/stat > /dev/null && cat /proc/$!/environ > /dev/null && echo other; kill $!`)
	if !strings.Contains(out, "end\n") || strings.Contains(out, "opened") || !strings.Contains(out, "other") {
		t.Errorf("%s", out)
	}
}

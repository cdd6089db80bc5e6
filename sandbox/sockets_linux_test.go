package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
)

// serveUnix has the sockets of a program outside of the sandbox below dir. Whoever
// reaches one is told so.
func serveUnix(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"stream", "packet"} {
		kind := map[string]string{"stream": "unix", "packet": "unixpacket"}[name]
		l, err := net.ListenUnix(kind, &net.UnixAddr{Name: filepath.Join(dir, name), Net: kind})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte("HOSTMARK"))
				conn.Close()
			}
		}()
	}
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "datagram"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		buf := make([]byte, 10)
		_ = d.SetReadDeadline(time.Now())
		if n, _ := d.Read(buf); n > 0 {
			t.Errorf("a datagram came out: %q", buf[:n])
		}
		d.Close()
	})
	for _, name := range []string{"stream", "packet", "datagram"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// reachUnix tries all ways to a socket below the folder D.
const reachUnix = `cat > reach.py <<'P'
import socket,os,array,threading,sys
D,rounds=sys.argv[1],int(sys.argv[2])
def take(s):
    s.settimeout(2); print("got", s.recv(20))
def tryit(name, f):
    try: f()
    except OSError as e: print(name, e)
for kind,name in ((socket.SOCK_STREAM,"stream"),(socket.SOCK_SEQPACKET,"packet")):
    def plain():
        s=socket.socket(socket.AF_UNIX,kind); s.connect(D+"/"+name); take(s)
    tryit("plain "+name, plain)
    def waits():
        s=socket.socket(socket.AF_UNIX,kind|socket.SOCK_NONBLOCK); s.connect(D+"/"+name); s.setblocking(True); take(s)
    tryit("without waiting "+name, waits)
    def relative():
        here=os.getcwd(); os.chdir(D)
        try: s=socket.socket(socket.AF_UNIX,kind); s.connect("./"+name); take(s)
        finally: os.chdir(here)
    tryit("relative "+name, relative)
    def linked():
        l="/tmp/l-"+name; os.symlink(D+"/"+name,l); s=socket.socket(socket.AF_UNIX,kind); s.connect(l); take(s)
    tryit("by a link "+name, linked)
    def descriptor():
        f=os.open(D,os.O_PATH); s=socket.socket(socket.AF_UNIX,kind); s.connect("/proc/self/fd/%d/%s"%(f,name)); take(s)
    tryit("by a descriptor "+name, descriptor)
    def itself():
        f=os.open(D+"/"+name,os.O_PATH); s=socket.socket(socket.AF_UNIX,kind); s.connect("/proc/self/fd/%d"%f); take(s)
    tryit("by its own descriptor "+name, itself)
    def hard():
        os.link(D+"/"+name,"hard-"+name); s=socket.socket(socket.AF_UNIX,kind); s.connect("hard-"+name); take(s)
    tryit("by a hard link "+name, hard)
    def moved():
        os.rename(D+"/"+name,D+"/m"); 
        try: s=socket.socket(socket.AF_UNIX,kind); s.connect(D+"/m"); take(s)
        finally: os.rename(D+"/m",D+"/"+name)
    tryit("moved "+name, moved)
for make in (lambda: socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM), lambda: socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM)[0], lambda: socket.socket(socket.AF_UNIX,socket.SOCK_RAW)):
    tryit("datagram", lambda: make().sendto(b"x",D+"/datagram"))
    tryit("message", lambda: make().sendmsg([b"x"],[],0,D+"/datagram"))
    tryit("connected", lambda: (lambda s:(s.connect(D+"/datagram"),s.send(b"x")))(make()))
import ctypes
libc=ctypes.CDLL(None); addr=ctypes.create_string_buffer(110)
def fill(p): addr.raw=(b"\x01\x00"+p.encode()).ljust(110,b"\0")
own=socket.socket(socket.AF_UNIX); own.bind("/tmp/own"); own.listen(500)
stop=[]
def swap():
    while not stop: fill("/tmp/own"); fill(D+"/stream")
threading.Thread(target=swap).start()
for i in range(rounds):
    s=socket.socket(socket.AF_UNIX)
    if libc.connect(s.fileno(),addr,110)==0:
        s.settimeout(0.01)
        try:
            if s.recv(20): print("raced HOSTMARK")
        except OSError: pass
    s.close()
stop.append(1)
P
python3 reach.py `

// TestForeignSockets holds that no socket of another program is reached, wherever it is shown.
func TestForeignSockets(t *testing.T) {
	for name, where := range map[string]func(p *place) string{
		"the workspace": func(p *place) string { return filepath.Join(p.root, "run") },
		"a folder to read": func(p *place) string {
			dir := filepath.Join(filepath.Dir(p.root), "shown")
			p.input.Folders = append(p.input.Folders, sandbox.Folder{Path: dir, Access: sandbox.Read})
			return dir
		},
		"a folder to write": func(p *place) string {
			dir := filepath.Join(filepath.Dir(p.root), "given")
			p.input.Folders = append(p.input.Folders, sandbox.Folder{Path: dir, Access: sandbox.Write})
			return dir
		},
		"a copy": func(p *place) string {
			dir := filepath.Join(p.home, ".cache")
			p.input.Folders = append(p.input.Folders, sandbox.Folder{Path: dir, Access: sandbox.Copy})
			return dir
		},
		"a toolchain": func(p *place) string {
			dir := filepath.Join(p.home, ".rustup")
			p.input.Folders = append(p.input.Folders, sandbox.Folder{Path: dir, Access: sandbox.Read})
			return dir
		},
		"a folder by a rule": func(p *place) string {
			dir := filepath.Join(filepath.Dir(p.root), "ruled")
			p.input.Layers.Static = rules(t, fmt.Sprintf(`{"*": "allow", "network": {"*": "allow", "unix:*.other": "allow"}, "read_file": {"*": "allow", "%s/**": "allow"}}`, dir))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, all, `true`, sandbox.Options{})
			p.input.Folders = []sandbox.Folder{}
			dir := where(p)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			serveUnix(t, dir)
			if out := p.limited(fmt.Sprint(reachUnix+dir, " ", rounds(100, 300))); strings.Contains(out, "HOSTMARK") || !strings.Contains(out, "ermission denied") {
				t.Errorf("%s", out)
			}
		})
	}
}

// TestAllowedSocket holds that a rule that names a socket shows it and lets commands reach it,
// that one alone.
func TestAllowedSocket(t *testing.T) {
	for rule, want := range map[string]int{
		`"unix:%s/stream": "allow"`:                               1,
		`"*": "allow"`:                                            0,
		`"unix:%s/stream": "allow", "unix:*": "deny"`:             0,
		`"unix:%s/stream": "ask"`:                                 0,
		`"unix:%s/packet": "allow", "unix:*/stream": "allow"`:     2,
		`"**": "allow", "?nix:*": "allow", "unix:*.foo": "allow"`: 0,
	} {
		p := newPlace(t, all, `true`, sandbox.Options{})
		dir := filepath.Join(filepath.Dir(p.root), "run")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		serveUnix(t, dir)
		if want == 2 { // a pattern shows nothing
			p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Read}}
		}
		p.input.Layers.Agents[0] = rules(t, `{"*": "allow", "network": {`+strings.ReplaceAll(rule, "%s", dir)+`}}`)
		out := p.limited(`python3 -c '
import socket
for kind,name in ((1,"stream"),(5,"packet")):
    try: s=socket.socket(socket.AF_UNIX,kind); s.connect("` + dir + `/"+name); print(s.recv(20))
    except OSError as e: print(e)'`)
		if got := strings.Count(out, "HOSTMARK"); got != want {
			t.Errorf("%s: %d sockets were reached, want %d\n%s", rule, got, want, out)
		}
	}
}

// TestOwnSockets holds that the commands of a session reach each other's sockets, and those
// without a name.
func TestOwnSockets(t *testing.T) {
	p := newPlace(t, all, `true`, sandbox.Options{})
	const program = `import socket,threading,os,sys
a,b = socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.send(b"datagram one"); a.send(b"two"); print(b.recv(3), b.recv(99)); b.send(b"back"); print(a.recv(9))
a.setblocking(False)
try: a.recv(9)
except BlockingIOError: print("would wait")
print(os.get_inheritable(a.fileno())); os.fork() or (b.send(b"forked"), os._exit(0)); os.wait(); print(a.recv(9))
a,b = socket.socketpair(socket.AF_UNIX,socket.SOCK_RAW); a.sendmsg([b"fd"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,b"\1\0\0\0")]); print(b.recvmsg(9,99)[0])
for make in (lambda: socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM), lambda: a.connect("\0x"), lambda: a.bind("/tmp/bound")):
    try: make()
    except OSError as e: print("refused", type(e))
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    a,b = socket.socketpair(socket.AF_UNIX,kind); a.send(b"pair"); print(b.recv(9))
    for at in ("s","/tmp/s",os.path.expanduser("~/s"),"/dev/shm/s","\0abstract"):
        l = socket.socket(socket.AF_UNIX,kind); l.bind(at); l.listen()
        if at[0]!="\0": os.chmod(at,0o600)
        if at=="s": os.mkdir("d%d"%kind); os.rename("s","d%d/s"%kind); at="d%d/s"%kind
        t = threading.Thread(target=lambda: (lambda c:(c.send(b"here"),c.close()))(l.accept()[0])); t.start()
        c = socket.socket(socket.AF_UNIX,kind); c.connect(at); print(c.recv(9)); t.join()
        if at[0]!="\0": os.unlink(at)
l = socket.create_server(("127.0.0.1",0))
c = socket.create_connection(l.getsockname(),timeout=2); l.accept()[0].send(b"tcp"); print(c.recv(9))
try: socket.create_connection(("127.0.0.1",1))
except OSError as e: print(e)
u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); u.bind(("127.0.0.1",0)); v=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); v.connect(u.getsockname()); v.send(b"udp"); print(u.recv(9))
from multiprocessing.managers import BaseManager
m=BaseManager(); m.start(); print("manager"); m.shutdown()
`
	out := p.limited(`cat > s.py <<'P'
` + program + `P
python3 s.py`)
	for text, want := range map[string]int{"pair": 2, "here": 10, "tcp": 1, "Connection refused": 1, "udp": 1, "manager": 1, "dat": 1, "two": 1, "back": 1, "would wait": 1, "False": 1, "forked": 1, "fd": 1, "refused <class": 2} {
		if got := strings.Count(out, text); got != want {
			t.Errorf("%d times %q, want %d\n%s", got, text, want, out)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	serves := p.start(w, `exec python3 -c '
import socket
l=socket.socket(socket.AF_UNIX); l.bind("between"); l.listen(); print("listens",flush=True)
l.accept()[0].send(b"between")'`)
	w.Close()
	buf := make([]byte, 20)
	if n, err := r.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "listens") {
		t.Fatalf("%s %v", buf[:n], err)
	}
	out, _ = p.run(`python3 -c '
import socket
s=socket.socket(socket.AF_UNIX); s.connect("between"); print(s.recv(9))'`)
	if !strings.Contains(out, "between") {
		t.Errorf("the socket of another call of the session is not reached: %s", out)
	}
	if _, err := serves.Wait(); err != nil {
		t.Error(err)
	}
	r.Close()
}

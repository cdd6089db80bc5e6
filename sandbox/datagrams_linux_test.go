package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
)

// sendAll sends datagrams by each call to D/allowed, which a rule names, and to D/other, which none does.
const sendAll = `cat > send.py <<'P'
import socket,os,sys,ctypes,threading,array
D=sys.argv[1]; libc=ctypes.CDLL(None,use_errno=True)
def attempt(what,f):
    try: f()
    except OSError as e: print(what,"fails:",e.strerror)
    else: print(what,"works")
def new(): return socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)
class iov(ctypes.Structure): _fields_=[("base",ctypes.c_char_p),("len",ctypes.c_size_t)]
class hdr(ctypes.Structure): _fields_=[("name",ctypes.c_void_p),("namelen",ctypes.c_uint),("iov",ctypes.POINTER(iov)),("iovlen",ctypes.c_size_t),("control",ctypes.c_void_p),("controllen",ctypes.c_size_t),("flags",ctypes.c_int)]
class mhdr(ctypes.Structure): _fields_=[("hdr",hdr),("len",ctypes.c_uint)]
def many(to):
    name=ctypes.create_string_buffer(b"\1\0"+to.encode()); v=iov(b"many",4); m=(mhdr*2)()
    for x in m: x.hdr.name=ctypes.cast(name,ctypes.c_void_p); x.hdr.namelen=len(name); x.hdr.iov=ctypes.pointer(v); x.hdr.iovlen=1
    s=new(); n=libc.sendmmsg(s.fileno(),m,2,0)
    if n<0: raise OSError(ctypes.get_errno(),os.strerror(ctypes.get_errno()))
    assert n==1 and m[0].len==4,(n,m[0].len)
for name in ("allowed","other"):
    to=D+"/"+name; os.path.lexists("/tmp/l") and os.unlink("/tmp/l"); os.symlink(to,"/tmp/l")
    attempt(name+" sendto",lambda: new().sendto(b"sendto",to))
    attempt(name+" sendmsg",lambda: new().sendmsg([b"send",b"msg"],[],0,to))
    attempt(name+" sendmmsg",lambda: many(to))
    def connected():
        s=new(); s.connect(to); s.send(b"send"); s.sendmsg([b"connected"]); os.write(s.fileno(),b"write")
    attempt(name+" connected",connected)
    attempt(name+" link",lambda: new().sendto(b"link","/tmp/l"))
    attempt(name+" descriptor",lambda: new().sendto(b"fd","/proc/self/fd/%d/%s"%(os.open(D,os.O_PATH),name)))
    def rights():
        r,w=os.pipe(); new().sendmsg([b"rights"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array("i",[w]))],0,to)
    attempt(name+" rights",rights)
    def pair(): a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); a.sendto(b"x",to); a.sendmsg([b"y"],[],0,to); assert b.recv(9)+b.recv(9)==b"xy"
    pair()
try: s=new()
except OSError: sys.exit()
addr=ctypes.create_string_buffer(110); stop=[]
def fill(p): addr.raw=(b"\x01\x00"+p.encode()).ljust(110,b"\0")
def swap():
    while not stop: fill(D+"/allowed"); fill(D+"/other")
t=threading.Thread(target=swap); t.start()
for i in range(200): libc.sendto(s.fileno(),b"raced",5,0x40,addr,110)
stop.append(1); t.join()
P
python3 send.py `

// ownTraffic uses sockets in ways that work without a supervisor too.
const ownTraffic = `python3 -c '
import socket,os,array
a=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); a.bind("a"); b=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); b.bind("/tmp/b")
b.sendto(b"x"*5000+b"\0"*5000,"a"); d,f=a.recvfrom(20000); assert len(d)==10000; a.sendto(b"back","/tmp/b"); print(b.recv(9))
c=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); c.bind("\0own"); b.sendto(b"abstract","\0own"); print(c.recv(9))
r,w=os.pipe(); b.sendmsg([b"fd"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array("i",[w]))],0,"a"); m,anc,_,_=a.recvmsg(9,99); os.write(array.array("i",anc[0][2][:4])[0],b"passed"); print(os.read(r,9))
p,q=socket.socketpair(); n=p.sendmsg([b"y"*3000000],[],socket.MSG_DONTWAIT); assert 0<n<=1<<20 and len(q.recv(n,socket.MSG_WAITALL))==n; print("stream")
p.sendmsg([b"fd"],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array("i",[r]))]); print(len(q.recvmsg(9,99)[1]))
u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); u.bind(("127.0.0.1",0)); v=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); v.sendto(b"udp",u.getsockname()); print(u.recv(9)); v.sendmsg([b"ud",b"p2"],[],0,u.getsockname()); print(u.recv(9)); v.connect(u.getsockname()); v.send(b"udp3"); print(u.recv(9))
q.close()
try: p.sendmsg([b"z"])
except BrokenPipeError: print("broken")
import signal
for flags in (0,socket.MSG_NOSIGNAL):
    signal.signal(signal.SIGPIPE,lambda *a: print("signal"))
    try: p.sendmsg([b"z"],[],flags)
    except BrokenPipeError: print("broken")
signal.signal(signal.SIGPIPE,signal.SIG_DFL)
if os.fork()==0: p.sendmsg([b"z"]); os._exit(0)
print(os.WTERMSIG(os.wait()[1]))
p,q=socket.socketpair(); n=p.sendmsg([b"\0"*(1<<17)],[],socket.MSG_DONTWAIT); assert q.recv(n,socket.MSG_WAITALL)==b"\0"*n
for f in (lambda: a.sendto(b"x","nothere"), lambda: a.sendto(b"x"*1000000,"/tmp/b"), lambda: a.sendmsg([b"x"])):
    try: f()
    except OSError as e: print(e.strerror)
from multiprocessing import Pool
if __name__=="__main__": print(Pool(2).map(len,["ab"]))
'`

// TestAllowedDatagrams: a rule that names a socket of datagrams, or a pattern of such, lets commands send to it, and to no other. Without
// such a rule no command has such a socket.
func TestAllowedDatagrams(t *testing.T) {
	for rule, allowed := range map[string]bool{`"unix:%s/allowed": "allow"`: true, `"*": "allow"`: false, `"unix:%s/allowed": "ask"`: false, `"unix:%s/allowed": "allow", "unix:*": "deny"`: false,
		`"unix:%s/allow*": "allow"`: true, `"unix:%s/*": "allow", "unix:%s/o*": "deny"`: true, `"unix:**/allowed": "allow"`: true, `"unix:%s/a?": "allow"`: false} {
		p := newPlace(t, all, `mkdir ../run`, sandbox.Options{})
		dir := filepath.Join(filepath.Dir(p.root), "run")
		var sockets []*net.UnixConn
		for _, name := range []string{"allowed", "other"} {
			s, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil {
				t.Fatal(err)
			}
			sockets = append(sockets, s)
		}
		came := make(chan string, 1)
		go func() { // until its deadline
			var all []string
			buf := make([]byte, 100)
			for {
				n, err := sockets[0].Read(buf)
				if err != nil {
					came <- strings.Join(all, " ")
					return
				}
				all = append(all, string(buf[:n]))
			}
		}()
		p.input.Folders = []sandbox.Folder{{Path: dir, Access: sandbox.Read}}
		p.input.Layers.Agents[0] = rules(t, `{"*": "allow", "network": {`+strings.ReplaceAll(rule, "%s", dir)+`}}`)
		out := p.limited(sendAll + dir)
		_ = sockets[0].SetReadDeadline(time.Now().Add(time.Second))
		got := <-came
		_ = sockets[1].SetReadDeadline(time.Now())
		buf := make([]byte, 10)
		if n, _ := sockets[1].Read(buf); n > 0 {
			t.Errorf("%s: %q came to the other\n%s", rule, buf[:n], out)
		}
		if !allowed {
			if got != "" || strings.Contains(out, " works") {
				t.Errorf("%s: %q came\n%s", rule, got, out)
			}
			continue
		}
		if !strings.HasPrefix(got, "sendto sendmsg many send connected write link fd rights") || strings.Count(out, "works") != 7 || strings.Contains(out, "Traceback") {
			t.Errorf("%s: %q came\n%s", rule, got, out)
		}
		if out := p.limited(ownTraffic); out != "b'back'\nb'abstract'\nb'passed'\nstream\n1\nb'udp'\nb'udp2'\nb'udp3'\nbroken\nsignal\nbroken\nbroken\n13\nNo such file or directory\nMessage too long\nTransport endpoint is not connected\n[2]\n" {
			t.Errorf("%s", out)
		}
	}
}

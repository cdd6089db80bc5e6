package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// newProgram returns a program with an empty stdin, in an environment of its own.
func newProgram(stdout, stderr io.Writer, environ ...string) *program {
	return &program{&app.Program{Environ: environ, Console: app.Console{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr}}}
}

func TestMain(m *testing.M) {
	// Without it each process that looks for races sleeps for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	for _, name := range []string{"CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"} { // of where the tests run
		if filepath.Base(os.Args[0]) == "worker" { // a script has set them
			break
		}
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"worker": main, "mcpserver": mcptest.Main})
}

// TestScript runs testdata/script: the whole program, as a process, in a
// workspace of its own. Besides testscript's own commands there are
//
//	exits STATUS COMMAND…      run it and check its exit status
//	localserver MODEL…         start a server that lists models; sets $LOCAL_URL
//	modelheader N NAME REGEXP  hold the header of the model server's request N
//	modelserver SCRIPT         start a model server that plays SCRIPT; sets $MODEL_URL
//	modelcalls N               wait until it has got N requests
//	modelsent N REGEXP         check the body of its Nth request
//	session VAR AGENT FLAGS…   set $VAR to the newest session of AGENT ("-": of a caller)
//	approval VAR FLAGS…        wait until a call waits for approval; set $VAR to the id of the newest
//	waits N FLAGS…             wait until N calls wait for approval
//	start NAME COMMAND…        start it in the background
//	printed NAME REGEXP        wait until its stdout matches
//	said NAME REGEXP           the same for its stderr
//	ended NAME STATUS          wait for its end and check; NAME.out and NAME.err hold its output
//	signal NAME SIGNAL STATUS  send it a signal first
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Values[scriptKey{}] = &script{procs: make(map[string]*process)}
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: scriptCommands,
	})
}

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":       exits,
	"localserver": localServer,
	"modelheader": modelHeader,
	"modelserver": modelServer,
	"modelcalls":  modelCalls,
	"modelsent":   modelSent,
	"modelkeys":   modelKeys,
	"session":     sessionID,
	"approval":    approvalOf,
	"waits":       waits,
	"start":       start,
	"ended":       ended,
	"printed":     printed(func(p *process) *output { return &p.out }),
	"said":        printed(func(p *process) *output { return &p.err }),
	"signal":      sendSignal,
}

type scriptKey struct{}

// script is what the commands of one script share.
type script struct {
	server *modeltest.Server
	procs  map[string]*process
	passed []string // more variables that start passes on
}

type process struct {
	*exec.Cmd
	out, err output
}

// output is what a process has printed.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed with the next write; nil means nobody waits
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return o.text.Write(p)
}

// read returns what there is, and a channel that is closed when there is more.
func (o *output) read() ([]byte, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return bytes.Clone(o.text.Bytes()), o.more
}

func state(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	got := 0
	if exit != nil {
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func modelServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: modelserver SCRIPT")
	}
	play, err := replaymodel.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	server := modeltest.Start(play, nil)
	ts.Defer(func() {
		if err := server.Close(); err != nil {
			ts.Logf("model server: %v", err)
		}
	})
	state(ts).server = server
	ts.Setenv("MODEL_URL", server.URL)
}

func localServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: localserver MODEL…")
	}
	var list struct {
		Data []map[string]string `json:"data"`
	}
	for _, name := range args {
		list.Data = append(list.Data, map[string]string{"id": name, "object": "model"})
	}
	answer, err := json.Marshal(list)
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(answer)
	}))
	ts.Defer(server.Close)
	ts.Setenv("LOCAL_URL", server.URL)
}

func modelHeader(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] modelheader N NAME REGEXP")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	got := state(ts).server.Received()
	if n < 1 || n > len(got) {
		ts.Fatalf("the model server has got %d requests", len(got))
	}
	if value := got[n-1].Header.Get(args[1]); pattern.MatchString(value) == neg {
		ts.Fatalf("request %d has the header %s: %q", n, args[1], value)
	}
}

func modelCalls(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(strings.Join(args, ""))
	if neg || err != nil {
		ts.Fatalf("usage: modelcalls N")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ts.Check(state(ts).server.Await(ctx, n))
}

// modelKeys holds with which keys the model server was called, in the order of the calls.
func modelKeys(ts *testscript.TestScript, neg bool, args []string) {
	var got []string
	for _, r := range state(ts).server.Received() {
		got = append(got, r.Header.Get("X-Api-Key"))
	}
	if slices.Equal(got, args) == neg {
		ts.Fatalf("the calls had the keys %q", got)
	}
}

func modelSent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] modelsent N REGEXP")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	got := state(ts).server.Received()
	if n < 1 || n > len(got) {
		ts.Fatalf("the model server has got %d requests", len(got))
	}
	if body := got[n-1].Body; pattern.Match(body) == neg {
		ts.Fatalf("request %d: %s", n, body)
	}
}

func sessionID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: session VAR AGENT FLAGS…")
	}
	ts.Check(ts.Exec("worker", append([]string{"sessions", "list", "--json", "--all"}, args[2:]...)...))
	var records []record.Record
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &records))
	for _, r := range records {
		if r.Agent == args[1] || r.Agent == "" && args[1] == "-" {
			ts.Setenv(args[0], r.ID)
			return
		}
	}
	ts.Fatalf("there is no session of %s", args[1])
}

func approvalOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: approval VAR FLAGS…")
	}
	pending := awaitApprovals(ts, 1, args[1:])
	ts.Setenv(args[0], pending[len(pending)-1].ID)
}

func waits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: waits N FLAGS…")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	awaitApprovals(ts, n, args[1:])
}

// awaitApprovals returns the calls that wait for approval, once there are n.
func awaitApprovals(ts *testscript.TestScript, n int, flags []string) []approval.Approval {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		ts.Check(ts.Exec("worker", append([]string{"approvals", "list", "--json"}, flags...)...))
		var pending []approval.Approval
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &pending))
		if len(pending) >= n {
			return pending
		}
	}
	ts.Fatalf("there are no %d calls that wait for approval", n)
	return nil
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME COMMAND…")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	p := &process{Cmd: exec.Command(path, args[2:]...)}
	p.Dir = ts.MkAbs(".")
	names := []string{"GORACE", "HOME", "PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"}
	for _, name := range append(names, state(ts).passed...) {
		p.Env = append(p.Env, name+"="+ts.Getenv(name))
	}
	p.Stdout, p.Stderr = &p.out, &p.err
	ts.Check(p.Start())
	state(ts).procs[args[0]] = p
	ts.Defer(func() {
		if p.ProcessState == nil { // a script that failed half way
			ts.Logf("killing %s: %v", args[0], errors.Join(p.Process.Kill(), p.Wait()))
		}
	})
}

var signals = map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || signals[args[1]] == nil || state(ts).procs[args[0]] == nil {
		ts.Fatalf("usage: signal NAME INT|TERM|KILL STATUS")
	}
	ts.Check(state(ts).procs[args[0]].Process.Signal(signals[args[1]]))
	ended(ts, false, []string{args[0], args[2]})
}

// printed is the command that waits until a process has printed something on one of its
// outputs.
func printed(of func(*process) *output) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 || state(ts).procs[args[0]] == nil {
			ts.Fatalf("usage: printed|said NAME REGEXP")
		}
		p := state(ts).procs[args[0]]
		pattern, err := regexp.Compile(args[1])
		ts.Check(err)
		limit := time.After(time.Minute)
		for {
			text, more := of(p).read()
			if pattern.Match(text) {
				return
			}
			select {
			case <-more:
			case <-limit:
				ts.Fatalf("%s has not printed %s, but %s", args[0], args[1], text)
			}
		}
	}
}

func ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || state(ts).procs[args[0]] == nil {
		ts.Fatalf("usage: ended NAME STATUS")
	}
	p := state(ts).procs[args[0]]
	err := p.Wait()
	stdout, _ := p.out.read()
	stderr, _ := p.err.read()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), stdout, 0o644))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), stderr, 0o644))
	if got := p.ProcessState.ExitCode(); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s: exit status %d (%v), want %s\n%s", args[0], got, err, args[1], stderr)
	}
}

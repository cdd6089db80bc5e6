package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds what is waited for and must come: the machine may be busy.
const patience = 2 * time.Minute

// storeMargin is how long the store may be away without any session failing. Work that
// needs the store waits for at least 10 s; the margin allows for a busy machine.
const storeMargin = 7 * time.Second

// workspaceID names the workspace of a campaign.
const workspaceID = "soak"

// shape is what a task is like: its lead calls scouts and answers, and each of them calls a
// tool and answers.
type shape struct {
	words  int           // of an answer
	pause  time.Duration // before each
	large  int           // bytes of a word; 0 means a few
	steps  int           // how often a scout calls a tool; 0 means once
	scouts int           // that a lead calls at once; 0 means 2
	rounds int           // how often it does; 0 means once
}

// fleet is the workers of one workspace.
type fleet struct {
	*run
	repo, state string
	flags       []string // of every worker
	serving     []string // flags of those that serve, besides
	store       storeAt

	mu      sync.Mutex
	workers []*worker // those that run
	started int
	active  map[*call]bool // those that go on
	calls   []*call        // those that have ended

	following sync.WaitGroup // readers beside the callers
}

// newFleet makes a workspace whose tasks have a shape. flags are those of all its
// workers, besides the usual ones.
func (r *run) newFleet(s shape, flags ...string) (*fleet, error) {
	f := &fleet{run: r, repo: filepath.Join(r.dir, "repo"), state: filepath.Join(r.dir, "state"), active: make(map[*call]bool)}
	f.store = storeAt{dir: filepath.Join(f.state, "nats")}
	script := filepath.Join(r.dir, "replay.jsonl")
	f.flags = append([]string{
		"--dir", f.repo, "--state-dir", f.state, "--workspace", workspaceID, "--model", "replay/" + script,
		"--max-depth", "2", "--max-children", "100",
	}, flags...)
	agents := filepath.Join(f.repo, ".agents", "agents")
	err := errors.Join(os.MkdirAll(agents, 0o755), os.MkdirAll(f.home(), 0o755))
	for name, text := range map[string]string{
		filepath.Join(agents, "lead.md"):   agentFile("lead", "all"),
		filepath.Join(agents, "scout.md"):  agentFile("scout", "subagent"),
		filepath.Join(f.repo, "README.md"): "# Rockets\n",
		script:                             s.script(),
	} {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
	}
	r.atEnd(f.close)
	return f, err
}

func (f *fleet) home() string { return filepath.Join(f.dir, "home") }

func agentFile(name, mode string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: It is part of a campaign.\nmode: %s\nmaxSteps: 1000\npermission:\n  \"*\": allow\n---\nYou %s.\n", name, mode, name)
}

// script returns the model's answers.
func (s shape) script() string {
	word := "word "
	if s.large > 0 {
		word = strings.Repeat("x", s.large)
	}
	words := make([]string, s.words)
	for i := range words {
		words[i] = word
	}
	type object = map[string]any
	ask := func(round int) object { // no call twice in a row
		return object{"name": "task", "arguments": object{"description": fmt.Sprintf("look %d", round), "prompt": "Look.", "agentType": "scout"}}
	}
	var script bytes.Buffer
	out := json.NewEncoder(&script)
	turn := func(agent string, calls ...object) {
		t := object{"match": object{"system": "You " + agent}, "text": words, "delayMs": s.pause.Milliseconds()}
		if len(calls) > 0 {
			t["toolCalls"] = calls
		}
		_ = out.Encode(t) // into memory
	}
	for round := range max(1, s.rounds) {
		turn("lead", slices.Repeat([]object{ask(round)}, max(2, s.scouts))...)
	}
	turn("lead")
	for i := range max(1, s.steps) { // no call twice in a row
		turn("scout", object{"name": "read_file", "arguments": object{"path": "README.md", "limit": 100 + i}})
	}
	turn("scout")
	return script.String()
}

// command returns a command line of the worker.
func (f *fleet) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.binary, append(args, f.flags...)...)
	cmd.Env = []string{"HOME=" + f.home(), "PATH=" + os.Getenv("PATH")}
	cmd.Dir = f.repo
	cmd.SysProcAttr = ofShell()
	return cmd
}

// output runs a command line to its end. "doctor --full" reads all that is stored.
func (f *fleet) output(args ...string) (stdout, stderr string, err error) {
	ctx, cancel := f.within(5 * patience)
	defer cancel()
	cmd := f.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	ended := make(chan struct{})
	go func() { // ends with the process
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill()
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	if err != nil {
		err = fmt.Errorf("worker %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), err
}

// worker is a "worker serve".
type worker struct {
	name       string
	url, token string
	cmd        *exec.Cmd
	log        string        // the file with its stderr
	gone       chan struct{} // closed when it has ended

	killedAt time.Time // zero means it was not
}

var servedOn = regexp.MustCompile(`is served on (\S+) \(token in (.*)\)`)

// start starts a worker and returns when it serves.
func (f *fleet) start() (*worker, error) {
	f.mu.Lock()
	f.started++
	w := &worker{name: "w" + strconv.Itoa(f.started), gone: make(chan struct{})}
	f.mu.Unlock()
	w.log = filepath.Join(f.dir, w.name+".log")
	log, err := os.Create(w.log)
	if err != nil {
		return nil, err
	}
	w.cmd = f.command(append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "info",
		"--context-window", "0"}, // the model counts the messages: of a compacted conversation it would begin anew
		f.serving...)...)
	stderr, err := w.cmd.StderrPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	served := make(chan []string, 1)
	f.running.Go(func() {
		defer close(w.gone)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fmt.Fprintln(log, time.Now().Format("15:04:05.000"), lines.Text())
			if m := servedOn.FindStringSubmatch(lines.Text()); m != nil {
				served <- m
			}
		}
		_, _ = io.Copy(io.Discard, stderr) // behind a line that is too long
		_ = w.cmd.Wait()                   // its state says how it has ended
		fmt.Fprintln(log, time.Now().Format("15:04:05.000"), "ended:", w.cmd.ProcessState)
		_ = log.Close()
		if f.remove(w) && f.ctx.Err() == nil {
			f.broke("%s has ended by itself: %s", w.name, w.lastWords())
		}
	})
	select {
	case m := <-served:
		token, err := os.ReadFile(m[2])
		if err != nil {
			return nil, err
		}
		w.url, w.token = m[1], strings.TrimSpace(string(token))
		f.mu.Lock()
		f.workers = append(f.workers, w)
		f.mu.Unlock()
		return w, nil
	case <-w.gone:
		return nil, fmt.Errorf("%s does not start: %s", w.name, w.lastWords())
	case <-time.After(patience):
		_ = w.cmd.Process.Kill()
		return nil, fmt.Errorf("%s does not serve within %s: %s", w.name, patience, w.lastWords())
	case <-f.ctx.Done():
		_ = w.cmd.Process.Kill()
		return nil, f.ctx.Err()
	}
}

// startAll starts n workers.
func (f *fleet) startAll(n int) error {
	errs := make([]error, n)
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() { _, errs[i] = f.start() })
	}
	starting.Wait()
	return errors.Join(errs...)
}

// lastWords returns the end of what a worker has said.
func (w *worker) lastWords() string {
	text, _ := os.ReadFile(w.log) // for people
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// excuse says how sessions of the calls that go on may end, besides completed: those
// of w, nil means of all.
func (f *fleet) excuse(w *worker, statuses ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.active {
		if w == nil || c.worker == w {
			c.excuses = append(c.excuses, statuses...)
		}
	}
}

func (w *worker) signal(s syscall.Signal) error {
	if err := w.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s to %s: %w: %s", s, w.name, err, w.lastWords())
	}
	return nil
}

// up returns the workers that run.
func (f *fleet) up() []*worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.workers)
}

// remove takes a worker from those that run, and reports whether it was among them.
func (f *fleet) remove(w *worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.workers, w)
	if i < 0 {
		return false
	}
	f.workers = slices.Delete(f.workers, i, i+1)
	return true
}

// kill kills a worker without a warning.
func (f *fleet) kill(w *worker) error {
	if !f.remove(w) {
		return nil // it has ended by itself, which is told
	}
	w.killedAt = time.Now()
	f.excuse(w, "interrupted")
	defer f.excuse(w, "interrupted") // those that have come meanwhile
	err := w.signal(syscall.SIGKILL)
	<-w.gone
	return err
}

// end ends a worker in order. What it runs is cancelled, and its status is 0.
func (f *fleet) end(w *worker) error {
	if !f.remove(w) {
		return nil // it has ended by itself, which is told
	}
	f.excuse(w, "cancelled")
	defer f.excuse(w, "cancelled") // those that have come meanwhile
	if err := w.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-w.gone:
	case <-time.After(patience):
		_ = w.signal(syscall.SIGKILL)
		<-w.gone
		return fmt.Errorf("%s did not end within %s of SIGTERM: %s", w.name, patience, w.lastWords())
	}
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with status %d at SIGTERM, want 0: %s", w.name, code, w.lastWords())
	}
	return nil
}

// leader returns the worker that runs the embedded store, or nil: another process
// does, or nobody at the moment.
func (f *fleet) leader() *worker {
	text, err := os.ReadFile(filepath.Join(f.store.dir, "leader.pid"))
	if err != nil {
		return nil
	}
	for _, w := range f.up() {
		if strconv.Itoa(w.cmd.Process.Pid) == strings.TrimSpace(string(text)) {
			return w
		}
	}
	return nil
}

// victim returns a worker that runs: the leader two times of three.
func (f *fleet) victim() (w *worker, leads bool) {
	up := f.up()
	w = up[f.random.IntN(len(up))]
	leader := f.leader()
	if f.random.IntN(3) > 0 && leader != nil {
		w = leader
	}
	return w, w == leader
}

// close kills what still runs.
func (f *fleet) close() {
	for _, w := range f.up() {
		_ = w.cmd.Process.Signal(continueSignal)
		_ = w.cmd.Process.Kill()
		<-w.gone
	}
}

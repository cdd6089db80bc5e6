package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// damageRows are the rows of TestDamage that always run; SOAK=1 runs all of them.
var damageRows = []string{
	"closed/streams/AGENT_EVENTS/msgs/1.blk/half",
	"closed/streams/AGENT_EVENTS/msgs/1.blk/flip",
	"closed/streams/KV_AGENT_SESSIONS/msgs/1.blk/remove",
	"closed/streams/AGENT_EVENTS/meta.inf/flip",
	"killed/streams/AGENT_EVENTS/msgs/1.blk/half",
}

// damages are the ways in which a file is damaged.
var damages = []struct {
	name string
	do   func(path string, data []byte) error
}{
	{"half", func(path string, data []byte) error { return os.Truncate(path, int64(len(data)/2)) }},
	{"zero", func(path string, _ []byte) error { return os.Truncate(path, 0) }},
	{"remove", func(path string, _ []byte) error { return os.Remove(path) }},
	{"flip", func(path string, data []byte) error {
		for i := range 3 {
			if len(data) > 0 {
				data[len(data)*(2*i+1)/6] ^= 0x55
			}
		}
		return os.WriteFile(path, data, 0o600)
	}},
}

// TestDamage damages each file of a store, once closed in order and once after its
// process was killed. Whatever it is, nothing hangs, and all is there or every command
// says what is not. A new task works.
func TestDamage(t *testing.T) {
	t.Parallel()
	all := os.Getenv("SOAK") != ""
	dir := t.TempDir()
	text := "fine"
	if all {
		text = strings.Repeat("fine ", 2<<20) // in the object store
	}
	if err := os.WriteFile(filepath.Join(dir, "ok.jsonl"), []byte(`{"text":"`+text+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := &damaged{t: t, dir: dir, state: filepath.Join(dir, "closed")}
	if stdout, stderr, status := closed.task(); status != 0 {
		t.Fatalf("status %d: %.500s %s", status, stdout, stderr)
	}
	killed := &damaged{t: t, dir: dir, state: filepath.Join(dir, "killed")}
	killed.lead(func() {})
	rows := 0
	for _, base := range []*damaged{closed, killed} {
		before := base.copy(t)
		ids, stderr := before.list()
		if len(ids) != 2 || stderr != "" {
			t.Fatalf("before the damage: %v\n%s", ids, stderr)
		}
		want := make(map[string]string)
		for _, id := range ids {
			want[id], _, _ = before.worker("events", id, "--json")
		}
		for _, file := range base.files() {
			for _, damage := range damages {
				name := filepath.Base(base.state) + strings.TrimPrefix(filepath.ToSlash(file), "jetstream/$G") + "/" + damage.name
				if !strings.HasPrefix(filepath.ToSlash(file), "jetstream") {
					name = filepath.Base(base.state) + "/" + file + "/" + damage.name
				}
				if !all && !slices.Contains(damageRows, name) {
					continue
				}
				rows++
				t.Run(name, func(t *testing.T) {
					d := base.copy(t)
					path := filepath.Join(d.state, "nats", file)
					data, err := os.ReadFile(path)
					if err == nil {
						err = damage.do(path, data)
					}
					if err != nil {
						t.Fatal(err)
					}
					d.check(file, ids, want)
				})
			}
		}
	}
	if least := len(damageRows); rows < least {
		t.Errorf("%d rows, want %d at least", rows, least)
	}
	t.Logf("%d rows", rows)
}

// damaged is a state folder, and the program that uses it.
type damaged struct {
	t     *testing.T
	dir   string
	state string
}

// copy returns a copy of the state folder in which files have the same times.
func (d *damaged) copy(t *testing.T) *damaged {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(d.state))
	err := filepath.WalkDir(d.state, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(d.state, path)
		if err = errors.Join(err, relErr); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if e.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(at, data, 0o600), os.Chtimes(at, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
	return &damaged{t: t, dir: d.dir, state: to}
}

// files returns the files of the store, by their paths below its folder.
func (d *damaged) files() []string {
	d.t.Helper()
	root := filepath.Join(d.state, "nats")
	var files []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && filepath.Base(filepath.Dir(path)) != "rendezvous" {
			files = append(files, strings.TrimPrefix(path, root+string(filepath.Separator)))
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return files
}

func (d *damaged) command(ctx context.Context, args ...string) *exec.Cmd {
	d.t.Helper()
	program, err := exec.LookPath("worker")
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--dir", d.dir, "--state-dir", d.state)...)
	cmd.Dir = d.dir
	cmd.Env = []string{"HOME=" + filepath.Join(d.dir, "home"), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// worker runs a command, which must end by itself.
func (d *damaged) worker(args ...string) (stdout, stderr string, status int) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := d.command(ctx, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() < 0) {
		d.t.Errorf("%v: %v", args, err)
	}
	if strings.Contains(errs.String(), "goroutine ") {
		d.t.Errorf("%v: %s", args, errs.String())
	}
	return string(out), errs.String(), cmd.ProcessState.ExitCode()
}

func (d *damaged) task() (stdout, stderr string, status int) {
	d.t.Helper()
	return d.worker("task", "explore", "x", "--model", "replay/ok.jsonl")
}

// list returns the ids of all sessions.
func (d *damaged) list() (ids []string, stderr string) {
	d.t.Helper()
	stdout, stderr, status := d.worker("sessions", "list", "--all", "--json")
	var rows []struct{ ID string }
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || status != 0 {
		d.t.Errorf("list: status %d, %v\n%s", status, err, stderr)
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, stderr
}

// TestDamageWhileOpen: a block is removed while a worker has the store open. Every later
// command reports it while that worker runs, and after its end. A new task works.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ok.jsonl"), []byte(`{"text":"fine"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &damaged{t: t, dir: dir, state: filepath.Join(dir, "open")}
	file := filepath.Join("jetstream", "$G", "streams", "AGENT_EVENTS", "msgs", "1.blk")
	var ids []string
	want := make(map[string]string)
	d.lead(func() {
		ids, _ = d.list()
		for _, id := range ids {
			want[id], _, _ = d.worker("events", id, "--json")
		}
		if err := os.Remove(filepath.Join(d.state, "nats", file)); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(time.Minute)
		for {
			if _, stderr := d.list(); strings.Contains(stderr, "1.blk was removed while the store was open") {
				break
			}
			if time.Now().After(until) {
				t.Fatal("nobody notices it")
			}
		}
		d.check(file, ids, want)
	})
	d.check(file, ids, want)
}

// lead makes a store whose leader is killed after it has noted the streams. before is done
// first.
func (d *damaged) lead(do func()) {
	d.t.Helper()
	leader := d.command(d.t.Context(), "serve", "--listen", "127.0.0.1:0")
	if err := leader.Start(); err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = leader.Wait() }() // killed
	defer leader.Process.Kill()
	lock := filepath.Join(d.state, "nats", "leader.pid")
	wait := time.NewTicker(20 * time.Millisecond)
	defer wait.Stop()
	until := time.Now().Add(time.Minute)
	for {
		if data, err := os.ReadFile(lock); err == nil && len(data) > 0 {
			break
		}
		if <-wait.C; time.Now().After(until) {
			d.t.Fatal("the leader does not start")
		}
	}
	if stdout, stderr, status := d.task(); status != 0 {
		d.t.Fatalf("status %d: %.500s %s", status, stdout, stderr)
	}
	stdout, _, _ := d.worker("doctor", "--json")
	var check struct {
		Streams []struct {
			Name     string
			Messages uint64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &check); err != nil || len(check.Streams) == 0 {
		d.t.Fatalf("%v: %s", err, stdout)
	}
	for { // until it is written down
		var was struct {
			Ledger struct {
				Streams map[string]struct{ Last uint64 }
			}
		}
		data, err := os.ReadFile(filepath.Join(d.state, "nats", "blocks.json"))
		if err == nil && json.Unmarshal(data, &was) == nil && was.Ledger.Streams["AGENT_EVENTS"].Last >= check.Streams[0].Messages {
			break
		}
		if <-wait.C; time.Now().After(until) {
			d.t.Fatalf("%v: %s", err, data)
		}
	}
	do()
}

// check runs the commands on the damaged store. want is what the sessions' streams
// were.
func (d *damaged) check(file string, ids []string, want map[string]string) {
	t := d.t
	t.Helper()
	found, stderr := d.list()
	warned := strings.Contains(stderr, "the event store is damaged")
	if _, again := d.list(); strings.Contains(again, "the event store is damaged") != warned {
		t.Errorf("it says %q, and later %q", stderr, again)
	}
	if stream := filepath.Base(filepath.Dir(filepath.Dir(file))); warned && !strings.Contains(stderr, filepath.ToSlash(filepath.Join(stream, "msgs"))) {
		t.Errorf("it says %q without the file", stderr)
	}
	intact := len(found) == len(ids)
	for _, id := range ids {
		stdout, stderr, status := d.worker("events", id, "--json")
		if stdout == want[id] {
			continue
		}
		intact = false
		marked := strings.Contains(stdout, `"missing":true`) // in each event without its content
		if !marked && (status == 0 || !strings.Contains(stderr, "worker: ")) {
			t.Errorf("%s is not what it was, status %d: %s", id, status, stderr)
		}
	}
	stdout, stderr, status := d.worker("doctor", "--json")
	switch {
	case !intact && !warned:
		t.Errorf("something is missing, and no command reports it: %v, before %v", found, ids)
	case warned && (status != 6 || !strings.Contains(stdout, `"advice"`)), !warned && status != 0:
		t.Errorf("doctor: status %d, warned %t\n%s\n%s", status, warned, stdout, stderr)
	}
	if stdout, stderr, status := d.task(); status != 0 {
		t.Errorf("a new task: status %d\n%.500s\n%s", status, stdout, stderr)
	}
}

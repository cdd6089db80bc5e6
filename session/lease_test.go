package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
)

// process returns a manager on e's bus with a lease of its own, as another
// process would have. It ends the sessions of processes that have gone by itself, too.
func (e *env) process(m model.Model) *env {
	e.t.Helper()
	manager := e.openManager(m)
	e.t.Cleanup(func() {
		if err := manager.Close(); err != nil {
			e.t.Error(err)
		}
	})
	return &env{Manager: manager, t: e.t, bus: e.bus, static: e.static}
}

func (e *env) openManager(m model.Model) *session.Manager {
	e.t.Helper()
	manager, err := session.OpenManager(e.t.Context(), session.Options{
		Bus: e.bus, Static: e.static, Workspace: permission.Workspace{Root: e.t.TempDir()},
		Model: func(string) (model.Model, error) { return m, nil },
	})
	if err != nil {
		e.t.Fatal(err)
	}
	manager.Store().Recovery.StopGrace = time.Minute
	return manager
}

// leases returns the bucket of the leases.
func (e *env) leases() jetstream.KeyValue {
	e.t.Helper()
	kv, err := e.bus.JetStream().KeyValue(e.t.Context(), "AGENT_WORKERS")
	if err != nil {
		e.t.Fatal(err)
	}
	return kv
}

// putLease stores the lease of a process, as change makes it from that of this one.
func (e *env) putLease(bootID string, change func(*lease.Lease)) {
	e.t.Helper()
	p := e.openManager(turns{say("ok")})
	entry, err := e.leases().Get(e.t.Context(), "ws."+session.BootID(p))
	if err = errors.Join(err, p.Close()); err != nil {
		e.t.Fatal(err)
	}
	var l lease.Lease
	if err := json.Unmarshal(entry.Value(), &l); err != nil {
		e.t.Fatal(err)
	}
	l.BootID = bootID
	change(&l)
	data, err := json.Marshal(l)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.leases().Put(e.t.Context(), "ws."+bootID, data); err != nil {
		e.t.Fatal(err)
	}
}

// expire has a manager's process asleep, and taken for gone.
func (e *env) expire(m *session.Manager) {
	e.t.Helper()
	session.Sleep(m)
	e.gone(session.BootID(m))
}

// gone stores the lease of a process that has ended.
func (e *env) gone(bootID string) {
	e.t.Helper()
	data, err := json.Marshal(lease.Lease{Worker: lease.Worker{BootID: bootID}, Ended: true})
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.leases().Put(e.t.Context(), "ws."+bootID, data); err != nil {
		e.t.Fatal(err)
	}
}

// recover ends what processes that have gone have left, unless m's process has done so by
// itself.
func (e *env) recover(m *session.Manager) {
	e.t.Helper()
	if _, err := session.RecoverAs(e.t.Context(), m); err != nil {
		e.t.Fatal(err)
	}
}

func ends(events []event.Event) (n int) {
	for _, ev := range events {
		if ev.Type() == "session_end" {
			n++
		}
	}
	return n
}

// TestLeaseHolds: as long as a process has its lease, nobody ends its sessions;
// once that is over, whoever looks does.
func TestLeaseHolds(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	a, b := e.process(turns{say("ok")}), e.process(turns{say("ok")})
	root := a.open(session.Spec{})
	child := a.open(session.Spec{Parent: root})
	other := b.open(session.Spec{})
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 0 || err != nil {
		t.Fatalf("Recover beside two live processes ended %d, %v", n, err)
	}
	e.expire(a.Manager)
	e.recover(b.Manager)
	for _, s := range []*session.Session{root, child} {
		if r := e.stored(s.ID()); r.Status != record.Interrupted || !r.Closed || r.EndedBy != session.BootID(b.Manager) {
			t.Errorf("record %+v", r)
		}
	}
	if r := e.stored(other.ID()); r.Status.Ended() {
		t.Errorf("the live process' own session: %+v", r)
	}
}

// TestLeaseOfADeadProcess: a lease whose process is known to have ended counts
// for nothing, however fresh it is.
func TestLeaseOfADeadProcess(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{"boot_dead": cmd.Process.Pid, "boot_live": 1}
	if runtime.GOOS == "linux" { // one that its parent has not waited for
		zombie := exec.Command("cat")
		in, err := zombie.StdinPipe()
		if err == nil {
			err = zombie.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer zombie.Wait()
		in.Close()
		awaitZombie(t, zombie.Process.Pid)
		pids["boot_zombie"] = zombie.Process.Pid
	}
	for boot, pid := range pids {
		e.putLease(boot, func(l *lease.Lease) { l.PID, l.ProcessStart = pid, 0 })
		s := e.open(session.Spec{Description: boot})
		r := s.Record()
		r.BootID = boot
		e.store(r)
	}
	if n, err := e.Store().Recovery.Recover(t.Context()); n != len(pids)-1 || err != nil {
		t.Fatalf("Recover ended %d sessions, %v, want all but the live process's", n, err)
	}
	records, err := e.Store().Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Status.Ended() != (r.Description != "boot_live") {
			t.Errorf("session of %s: %s", r.Description, r.Status)
		}
	}
}

// awaitZombie waits until a child of this process has ended, and leaves it so.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(stat), ") Z ") {
			return
		}
		runtime.Gosched()
	}
}

// TestBackFromSleep: a process awakes after its lease has run out. It finds the sessions that others
// have ended, stops them with an error, and continues the rest.
func TestBackFromSleep(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	begun := make(chan struct{})
	asleep := e.process(turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		close(begun)
		hang(ctx, req, yield)
	}})
	taken := asleep.open(session.Spec{})
	out := make(chan session.Outcome)
	go func() { out <- taken.Prompt(t.Context(), "go") }()
	<-begun
	e.expire(asleep.Manager)
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 1 || err != nil {
		t.Fatalf("Recover: %d, %v", n, err)
	}
	kept := asleep.open(session.Spec{}) // since then

	session.LeaseRound(t.Context(), asleep.Manager)
	o := <-out
	var why *journal.ClaimedError
	if o.Status != record.Failed || !errors.As(o.Err, &why) || !errors.Is(o.Err, record.ErrEnded) || !strings.Contains(o.Err.Error(), "no sign of life") {
		t.Errorf("outcome of the session that was ended: %+v", o)
	}
	if err := taken.End(o.Status, o.Err); !errors.Is(err, record.ErrEnded) {
		t.Errorf("ending it again: %v, want ErrEnded", err)
	}
	events := e.events(taken)
	if last := events[len(events)-1]; ends(events) != 1 || last.Type() != "session_end" {
		t.Errorf("its stream: %s", types(events))
	}
	if r := e.stored(taken.ID()); r.Status != record.Interrupted {
		t.Errorf("its record: %+v", r)
	}
	// The lease is there again.
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("Recover after it came back: %d, %v", n, err)
	}
	if err := kept.End(record.Completed, nil); err != nil {
		t.Errorf("the session that nobody had ended: %v", err)
	}
}

// TestNothingAfterSleep: what a process still wants to say of a session, that
// others have ended while it slept, is not stored.
func TestNothingAfterSleep(t *testing.T) {
	e := newEnvOn(t, eventbus.Options{URL: natstest.Start(t, server.Options{}).ClientURL()}, turns{say("ok")}, nil)
	begun, wake := make(chan struct{}), make(chan struct{})
	asleep := e.process(turns{func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		close(begun)
		<-wake
		say("late")(ctx, req, yield)
	}})
	s := asleep.open(session.Spec{})
	out := make(chan session.Outcome)
	go func() { out <- s.Prompt(t.Context(), "go") }()
	<-begun
	e.expire(asleep.Manager)
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 1 || err != nil {
		t.Fatalf("Recover: %d, %v", n, err)
	}
	close(wake)
	var taken *journal.ClaimedError
	o := <-out // the store may not have refused anything yet
	if err := s.End(o.Status, o.Err); !errors.As(err, &taken) {
		t.Errorf("outcome %+v, ending the session: %v", o, err)
	}
	if events := e.events(s); ends(events) != 1 || events[len(events)-1].Type() != "session_end" {
		t.Errorf("its stream: %s", types(events))
	}
}

// TestManyRecoverOne: however many processes look at once, a session ends once.
func TestManyRecoverOne(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	var left []*session.Session
	for range 5 {
		left = append(left, e.open(session.Spec{}))
	}
	var all sync.WaitGroup
	for range 4 {
		p := e.process(turns{say("ok")})
		all.Go(func() {
			if _, err := session.RecoverAs(t.Context(), p.Manager); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, s := range left {
		got := types(e.events(s))
		if !strings.HasSuffix(got, "=queued =aborted session_end") {
			t.Errorf("events %s", got)
		}
		if r := e.stored(s.ID()); r.Status != record.Interrupted || !r.Closed {
			t.Errorf("record %+v", r)
		}
	}
}

// TestTakerDies: a process that dies while it ends another's sessions leaves
// them to the next one.
func TestTakerDies(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	s := e.open(session.Spec{})
	r := s.Record()
	r.Status, r.EndedBy = record.Interrupted, "boot_taker"
	e.store(r)
	e.putLease("boot_taker", func(l *lease.Lease) {})
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 0 || err != nil {
		t.Fatalf("beside the live taker: %d, %v", n, err)
	}
	e.gone("boot_taker")
	if n, err := e.Store().Recovery.Recover(t.Context()); n != 1 || err != nil {
		t.Fatalf("after its death: %d, %v", n, err)
	}
	if r := e.stored(s.ID()); !r.Closed || r.Status != record.Interrupted {
		t.Errorf("record %+v", r)
	}
}

// TestWorkersListed: lists of workers have the processes that run sessions. They lack ended ones, and
// processes that only recover sessions.
func TestWorkersListed(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	e.putLease("boot_runs", func(*lease.Lease) {})
	e.putLease("boot_recovers", func(l *lease.Lease) { l.NoSessions = true })
	e.putLease("boot_taken", func(l *lease.Lease) { l.ClaimedBy = "boot_runs" })
	e.putLease("boot_ended", func(l *lease.Lease) { l.Ended = true })
	workers, err := e.Store().Leases.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, w := range workers {
		listed[w.BootID] = true
	}
	if !listed["boot_runs"] || listed["boot_recovers"] || listed["boot_taken"] || listed["boot_ended"] {
		t.Errorf("listed: %v", listed)
	}
}

// TestLeaseIsGivenBack: a manager that is closed has no lease, and one whose bus
// is closed ends by itself (else TestMain finds its goroutine).
func TestLeaseIsGivenBack(t *testing.T) {
	e := newEnv(t, turns{say("ok")}, nil)
	p := e.process(turns{say("ok")})
	if _, err := e.leases().Get(t.Context(), "ws."+session.BootID(p.Manager)); err != nil {
		t.Fatalf("a live process' lease: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.leases().Get(t.Context(), "ws."+session.BootID(p.Manager)); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("after Close: %v", err)
	}

	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.OpenManager(context.Background(), session.Options{Bus: bus, Static: e.static}); err != nil {
		t.Fatal(err)
	}
	if err := bus.Close(); err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// rounds is how often a command runs that changes nothing; the median counts.
	rounds = 5

	// settling is the time between a server's start and the reading of its memory. In
	// it the server looks for sessions to end and to delete, which takes memory too.
	settling = time.Second

	// recent is how long a store is left alone that was just made: a server that starts
	// reads all messages of the last two minutes, to know their ids. A history is older.
	recent = 2*time.Minute + 10*time.Second

	// memoryBound is how much more memory than with an empty store anything may take that
	// opens the full one, in bytes.
	memoryBound = 150e6

	// idle is how long the processor time of an idle server is counted: longer than the
	// minute after which it looks again.
	idle = 75 * time.Second
)

// measurement runs commands on two stores.
type measurement struct {
	worker      string
	work        string // a folder for what is written
	empty, full string // state folders
	size
	failed int
}

// used is what a process has used.
type used struct {
	wall, cpu time.Duration
	rss       int64 // bytes, at most
	out       []byte
}

func (m *measurement) command(ctx context.Context, state string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.worker, append(args, "--state-dir", state, "--workspace", workspaceName, "--dir", m.work)...)
	cmd.Env = []string{"HOME=" + m.work, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// once runs a command.
func (m *measurement) once(ctx context.Context, state string, args ...string) (used, error) {
	cmd := m.command(ctx, state, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return used{}, fmt.Errorf("worker %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return used{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak(cmd.ProcessState), out.Bytes()}, nil
}

// median runs a command a few times, and returns the figures of the median by time.
func (m *measurement) median(ctx context.Context, state string, args ...string) (used, error) {
	var all []used
	for range rounds {
		u, err := m.once(ctx, state, args...)
		if err != nil {
			return u, err
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b used) int { return int(a.wall - b.wall) })
	return all[len(all)/2], nil
}

func (m *measurement) run(ctx context.Context) error {
	fmt.Printf("\n%d sessions, about %d events each\n\n", m.sessions, m.events)
	fmt.Println("| what | empty store | full store | cpu | more memory | bound |")
	fmt.Println("|---|--:|--:|--:|--:|--:|")
	if err := m.row(ctx, "`worker sessions list`", 500*time.Millisecond, "sessions", "list"); err != nil {
		return err
	}
	all, err := m.once(ctx, m.full, "sessions", "list", "--all", "--json", "--limit", "20")
	if err != nil {
		return err
	}
	var records []struct{ ID, ParentID string }
	if err := json.Unmarshal(all.out, &records); err != nil || len(records) < 10 {
		return fmt.Errorf("the list has %d sessions: %w", len(records), err)
	}
	var roots, children []string
	for _, r := range records {
		if r.ParentID == "" {
			roots = append(roots, r.ID)
		} else {
			children = append(children, r.ID)
		}
	}
	for _, row := range []struct {
		what  string
		bound time.Duration
		args  []string
	}{
		{"`worker sessions list --all`", 500 * time.Millisecond, []string{"sessions", "list", "--all"}},
		{"`worker sessions show` of one", time.Second, []string{"sessions", "show", children[0]}},
		{"`worker events` of one", time.Second, []string{"events", children[0]}},
		{"`worker approvals list`", time.Second, []string{"approvals", "list"}},
		{"`worker task`", 2 * time.Second, []string{"task", "explore", "where is the delay?", "--model", "offline"}},
	} {
		if err := m.row(ctx, row.what, row.bound, row.args...); err != nil {
			return err
		}
	}
	if err := m.serving(ctx, children[1], roots[1:4]); err != nil {
		return err
	}
	if m.failed > 0 {
		return fmt.Errorf("%d figures are above their bounds", m.failed)
	}
	return nil
}

// row measures a command on both stores and prints its line. One that names a
// session runs on the full one alone.
func (m *measurement) row(ctx context.Context, what string, bound time.Duration, args ...string) error {
	full, err := m.median(ctx, m.full, args...)
	if err != nil {
		return err
	}
	before, more := "-", int64(0)
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "ses_") }) {
		empty, err := m.median(ctx, m.empty, args...)
		if err != nil {
			return err
		}
		before, more = ms(empty.wall), full.rss-empty.rss
	}
	m.print(what, before, full.wall, ms(full.cpu), more, bound)
	return nil
}

// print prints a line; more is memory in bytes, and 0 where it is not known.
func (m *measurement) print(what, before string, took time.Duration, cpu string, more int64, bound time.Duration) {
	memory, mark := "", "< "+ms(bound)
	if more != 0 {
		memory, mark = mib(more), mark+", "+mib(memoryBound)
	}
	if took > bound || more > memoryBound {
		mark += " **exceeded**"
		m.failed++
	}
	fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", what, before, ms(took), cpu, memory, mark)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// serving measures a server on both stores, and on the full one what others ask it.
func (m *measurement) serving(ctx context.Context, child string, roots []string) error {
	empty, err := m.serve(ctx, m.empty)
	if err != nil {
		return err
	}
	time.Sleep(settling)
	emptyRSS := empty.rss()
	if err := empty.end(); err != nil {
		return err
	}
	full, err := m.serve(ctx, m.full)
	if err != nil {
		return err
	}
	defer full.end()
	time.Sleep(settling)
	m.print("start of `worker serve`", ms(empty.ready), full.ready, "", full.rss()-emptyRSS, time.Second)
	get := func(path string) (time.Duration, []byte, error) {
		var all []time.Duration
		var body []byte
		for range rounds {
			began := time.Now()
			var err error
			if body, err = full.get(ctx, path); err != nil {
				return 0, nil, err
			}
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all[len(all)/2], body, nil
	}
	for _, row := range []struct {
		what, path string
		bound      time.Duration
	}{
		{"`GET /v1/sessions`", "/v1/sessions", 500 * time.Millisecond},
		{"`GET /v1/sessions/ID`", "/v1/sessions/" + child, 100 * time.Millisecond},
		{"`GET /v1/sessions/ID/events`", "/v1/sessions/" + child + "/events", 200 * time.Millisecond},
	} {
		took, _, err := get(row.path)
		if err != nil {
			return err
		}
		m.print(row.what, "-", took, "", 0, row.bound)
	}
	// Commands beside the server, which leads.
	for _, row := range []struct {
		what  string
		bound time.Duration
		args  []string
	}{
		{"beside it, `worker sessions list`", 500 * time.Millisecond, []string{"sessions", "list"}},
		{"beside it, `worker events` of one", 200 * time.Millisecond, []string{"events", child}},
	} {
		if err := m.beside(ctx, row.what, row.bound, row.args...); err != nil {
			return err
		}
	}
	var all []time.Duration
	for _, id := range roots {
		u, err := m.once(ctx, m.full, "sessions", "delete", id)
		if err != nil {
			return err
		}
		all = append(all, u.wall)
	}
	slices.Sort(all)
	m.print("beside it, `worker sessions delete` of a root and its child", "-", all[len(all)/2], "", 0, 100*time.Millisecond)
	cpu := full.cpu()
	time.Sleep(idle)
	m.print(fmt.Sprintf("%s of an idle server, its processor time", idle), "-", full.cpu()-cpu, "", full.rss()-emptyRSS, time.Second)
	began := time.Now()
	err = full.end()
	m.print("its end", "-", time.Since(began), "", 0, time.Second)
	return err
}

func (m *measurement) beside(ctx context.Context, what string, bound time.Duration, args ...string) error {
	u, err := m.median(ctx, m.full, args...)
	if err == nil {
		m.print(what, "-", u.wall, ms(u.cpu), 0, bound)
	}
	return err
}

// server is a worker that serves HTTP.
type server struct {
	cmd   *exec.Cmd
	addr  string
	token string
	ready time.Duration
	done  chan error
}

func (m *measurement) serve(ctx context.Context, state string) (*server, error) {
	s := &server{cmd: m.command(ctx, state, "serve", "--listen", "127.0.0.1:0", "--model", "offline"), done: make(chan error, 1)}
	said, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok {
			s.addr, s.ready = strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '/' || r == ',' })[0], time.Since(began)
			break
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, said)
		s.done <- s.cmd.Wait()
		close(s.done) // end may be called twice
	}()
	if s.addr == "" {
		return nil, errors.Join(errors.New("worker serve does not say where it listens"), s.end())
	}
	token, err := os.ReadFile(filepath.Join(state, "serve.token"))
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	s.token = strings.TrimSpace(string(token))
	return s, nil
}

func (s *server) end() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // an error: it has ended
	return <-s.done
}

func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, resp.Status, body)
	}
	return body, err
}

// rss is the memory of the server in bytes.
func (s *server) rss() int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(data)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// cpu is the processor time that the server has used.
func (s *server) cpu() time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

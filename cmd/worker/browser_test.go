//go:build browser

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/agentworker/worker/internal/chromium"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

// pageWorker is "worker serve" as a process, in a workspace of its own, with a model that
// plays a script.
type pageWorker struct {
	t     *testing.T
	dir   string
	addr  string
	model *modeltest.Server
	flags []string // of "worker serve"
	cmd   *exec.Cmd
	ended chan struct{} // closed when its stderr has ended
}

// startPageWorker starts a worker, with these flags too. The test's end stops it.
func startPageWorker(t *testing.T, script string, files map[string]string, flags ...string) *pageWorker {
	t.Helper()
	play, err := replaymodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "demo") // a short name: pictures show it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w := &pageWorker{t: t, dir: dir, addr: freeAddr(t), model: modeltest.Start(play, nil), flags: flags}
	w.write("README.md", "# Rockets\n")
	for name, text := range files {
		w.write(name, text)
	}
	t.Cleanup(func() {
		if err := w.model.Close(); err != nil {
			t.Logf("model server: %v", err)
		}
	})
	w.start()
	t.Cleanup(func() { w.end(os.Interrupt) })
	return w
}

// freeAddr returns a free address outside of the ports that clients get, so that it stays
// free while a worker is started again.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}

func (w *pageWorker) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "greeter", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *pageWorker) command(args ...string) *exec.Cmd {
	args = append(args, "--dir", filepath.Join(w.dir, "greeter"), "--state-dir", filepath.Join(w.dir, "state"), "--workspace", "ws")
	cmd := exec.Command("worker", args...)
	cmd.Env = []string{
		"HOME=" + filepath.Join(w.dir, "home"), "XDG_CONFIG_HOME=" + filepath.Join(w.dir, "config"), "PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + w.model.URL,
	}
	return cmd
}

// start starts the worker, and returns when it serves. The link is the one that it prints.
func (w *pageWorker) start() (link string) {
	w.t.Helper()
	w.cmd = w.command(append([]string{"serve", "--listen", w.addr, "--takeovers", "0"}, w.flags...)...) // what a killed worker ran is interrupted
	out, err := w.cmd.StderrPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	at := regexp.MustCompile(`http://\S+/login\?link=\S+`)
	for link == "" && lines.Scan() {
		w.t.Log(lines.Text())
		link = at.FindString(lines.Text())
	}
	if link == "" {
		w.t.Fatal("the worker has ended without a link")
	}
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		for lines.Scan() {
			w.t.Log(lines.Text())
		}
	}()
	return link
}

// end ends the worker by a signal, and waits for it.
func (w *pageWorker) end(signal os.Signal) {
	if err := w.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Error(err)
	}
	<-w.ended
	_ = w.cmd.Wait() // killed
}

// link is what "worker page" prints.
func (w *pageWorker) link() string {
	w.t.Helper()
	out, err := w.command("page").Output()
	if err != nil {
		w.t.Fatalf("worker page: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// call makes a request with the token, and returns the answer.
func (w *pageWorker) call(method, path string, body any) map[string]any {
	w.t.Helper()
	token, err := os.ReadFile(filepath.Join(w.dir, "state", "serve.token"))
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.addr+path, bytes.NewReader(data))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer := make(map[string]any)
	if data, err = io.ReadAll(resp.Body); err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if err != nil || resp.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %s: %s, %v", method, path, resp.Status, data, err)
	}
	return answer
}

// task starts a task in the background and returns its session.
func (w *pageWorker) task(agent, prompt string) string {
	w.t.Helper()
	answer := w.call("POST", "/v1/tasks", map[string]any{"description": prompt, "prompt": prompt, "agentType": agent, "background": true})
	return answer["sessionId"].(string)
}

// beacon is a server that an answer wants the browser to ask.
type beacon struct {
	*httptest.Server
	hits atomic.Int64
}

func newBeacon(t *testing.T) *beacon {
	b := new(beacon)
	b.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { b.hits.Add(1) }))
	t.Cleanup(b.Close)
	return b
}

// tab is a tab of a real browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// openBrowser starts a Chromium with a profile of its own. The test's end closes it.
func openBrowser(t *testing.T) *tab {
	t.Helper()
	ctx, stop, err := chromium.Start(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return (&tab{t, ctx}).tab()
}

// tab opens another tab, which shares the cookies.
func (b *tab) tab() *tab {
	b.t.Helper()
	ctx, stop, err := chromium.Tab(b.ctx)
	if err != nil {
		b.t.Fatalf("opening a tab: %v", err)
	}
	b.t.Cleanup(stop)
	return &tab{b.t, ctx}
}

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// open goes to an address, and returns when the page has the rows.
func (b *tab) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// js runs an expression and returns its value. Where the tab goes elsewhere meanwhile it is
// run there.
func js[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	for {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { p.AwaitPromise = ptr(true) }))
		if err == nil {
			return value
		}
		if ctx.Err() != nil || !elsewhere.MatchString(err.Error()) {
			b.t.Fatalf("%s: %v\n%s", expression, err, b.text())
		}
	}
}

// elsewhere are the errors of an expression after its document was replaced.
var elsewhere = regexp.MustCompile(`navigated or closed|context was destroyed|Cannot find (default )?execution context|Promise was collected`)

func ptr[T any](v T) *T { return &v }

// until waits until a condition holds, which it looks at with every change of the document.
func (b *tab) until(condition string) {
	b.t.Helper()
	js[bool](b, `new Promise((resolve) => {
		const holds = () => { try { return Boolean(`+condition+`); } catch { return false; } };
		if (holds()) return resolve(true);
		const observer = new MutationObserver(() => { if (holds()) { observer.disconnect(); resolve(true); } });
		observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	})`)
}

// see waits until an element has a text.
func (b *tab) see(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((el) => el.textContent.includes(%q))`, selector, text))
}

// click clicks the first element of a selector that has a text, once it can be.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((el) => el.textContent.includes(%q) && !el.disabled && el.checkVisibility())`, selector, text)
	b.until(find)
	js[bool](b, "("+find+".click(), true)")
}

// press has the element that is focused get a key: "j", "Enter".
func (b *tab) press(key string) {
	b.t.Helper()
	js[bool](b, fmt.Sprintf(`(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true, cancelable: true }))`, key))
}

// fill puts a text into a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	js[string](b, fmt.Sprintf("document.querySelector(%q).value = %q", selector, text))
}

// text is what the page shows, for messages.
func (b *tab) text() string {
	ctx, stop := context.WithTimeout(b.ctx, 10*time.Second)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// shoot takes a picture for the documentation, where $WORKER_SCREENSHOTS names a folder.
func (b *tab) shoot(name string, width, height int64, scheme string) {
	b.t.Helper()
	dir := os.Getenv("WORKER_SCREENSHOTS")
	if dir == "" {
		return
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	js[bool](b, `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))`)
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

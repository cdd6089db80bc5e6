package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/procgroup"
	"github.com/agentworker/worker/internal/termtext"
)

const (
	sendTime  = 30 * time.Second // for one try
	maxAnswer = 64 << 10         // bytes of an answer that are read
)

// finalError is a failure that no other try changes.
type finalError struct{ error }

// laterError is a refusal with a time to wait.
type laterError struct {
	error
	after time.Duration
}

// send tries once to hand a message over.
func (n *Notifier) send(ctx context.Context, t *Target, m *Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	switch {
	case t.Desktop:
		return n.desktop(ctx, m)
	case t.Command != "":
		body, err := webhookBody(m, http.Header{})
		if err != nil {
			return finalError{err}
		}
		return n.program(ctx, body, n.opts.Shell, "-c", t.Command)
	}
	return n.post(ctx, t, m)
}

// post sends the message by HTTP. It follows no redirect.
func (n *Notifier) post(ctx context.Context, t *Target, m *Message) error {
	to, err := n.expand(t.HTTP)
	if err == nil {
		err = checkAddress(to)
	}
	if err != nil {
		return finalError{err}
	}
	header := http.Header{"User-Agent": {"agentworker"}}
	name := t.Form
	if name == "" {
		name = webhook
	}
	body, err := forms[name](m, header)
	if err == nil {
		err = n.headers(t, m, name, body, header)
	}
	if err != nil {
		return finalError{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return finalError{err}
	}
	req.Header = header
	resp, err := n.client.Do(req)
	if err != nil {
		if wrapped := new(url.Error); errors.As(err, &wrapped) {
			err = wrapped.Err // without the address
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return answered(resp)
}

// headers adds the headers of the setting and of Standard Webhooks.
func (n *Notifier) headers(t *Target, m *Message, name string, body []byte, header http.Header) error {
	for key, value := range t.Headers {
		text, err := n.expand(value)
		if err != nil {
			return fmt.Errorf("headers: %s: %w", key, err)
		}
		header.Set(key, text)
	}
	if name != webhook {
		return nil
	}
	now := time.Now()
	header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if t.Secret == "" {
		return nil
	}
	secret, err := n.expand(t.Secret)
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return errors.New("secret: it is not base64, with or without whsec_ before it")
	}
	signature, err := signer.Sign(m.ID, now, body)
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return err
}

// answered says what an answer means: taken, refused for good, or to be tried again.
func answered(resp *http.Response) error {
	code := resp.StatusCode
	err := fmt.Errorf("the server has answered %s", resp.Status)
	switch {
	case code/100 == 2:
		return nil
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		after, _ := httpheader.RetryAfter(resp.Header)
		return laterError{err, after}
	}
	return finalError{err}
}

// desktops are the programs that show a message on a desktop.
var desktops = map[string]func(m *Message) (name string, args []string){
	"linux": func(m *Message) (string, []string) {
		return "notify-send", []string{"--app-name=agentworker", "--", m.Title, m.plain()}
	},
	"darwin": func(m *Message) (string, []string) { // as arguments, so that nothing in them is run
		script := "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
		return "osascript", []string{"-e", script, m.Title, m.plain()}
	},
}

func (n *Notifier) desktop(ctx context.Context, m *Message) error {
	show := desktops[runtime.GOOS]
	if show == nil {
		return finalError{errors.New("there are no desktop messages on " + runtime.GOOS + ": use command")}
	}
	name, args := show(m)
	path, err := ownpath.Look(name)
	if errors.Is(err, exec.ErrNotFound) {
		return finalError{fmt.Errorf("%s is not installed", name)}
	}
	if err != nil {
		return finalError{err}
	}
	return n.program(ctx, nil, path, args...)
}

// program runs a program with a body on its stdin. Its process group ends with it.
func (n *Notifier) program(ctx context.Context, body []byte, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = n.opts.Dir, ownpath.Environ(n.opts.Env), bytes.NewReader(body), time.Second
	var said head
	cmd.Stdout, cmd.Stderr = &said, &said
	procgroup.Own(cmd, syscall.SIGKILL)
	err := procgroup.Start(cmd)
	if err == nil {
		err = cmd.Wait()
		procgroup.Kill(cmd)
	}
	if err != nil && len(said) > 0 {
		err = fmt.Errorf("%w: %s", err, termtext.OneLine(string(said), termtext.MaxLine))
	}
	return err
}

// head keeps the beginning of what is written.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), termtext.MaxLine-len(*h))]...)
	return len(p), nil
}

// variable is a variable of the environment in a text of the setting.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts the values of variables into a text.
func (n *Notifier) expand(text string) (string, error) {
	var err error
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		value := n.opts.Getenv(name)
		if value == "" {
			err = fmt.Errorf("the variable %s is not set", name)
		}
		return value
	})
	return text, err
}

// Variables are those of the environment that the target names: they hold its secrets.
func (t *Target) Variables() []string {
	var names []string
	texts := []string{t.HTTP, t.Secret}
	for _, value := range t.Headers {
		texts = append(texts, value)
	}
	for _, text := range texts {
		for _, found := range variable.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	return names
}

package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/procgroup"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/sandbox"
)

// Bounds of a hook.
const (
	defaultTime = 60 * time.Second
	maxOutput   = 1 << 20                // bytes of each stream; what is beyond is dropped
	lingers     = 200 * time.Millisecond // for which a stream is read that something holds open after the end
)

// ask runs one hook. An error says that it has failed: it has given no answer.
func (r *Runner) ask(ctx context.Context, h *hookconfig.Hook, c *Call) (answer, error) {
	limit := h.Timeout
	if limit == 0 {
		limit = defaultTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var a answer
	var err error
	switch {
	case h.Wrong != "":
		return a, errors.New(h.Wrong)
	case h.Type == hookconfig.HTTP:
		a, err = r.post(ctx, h, c)
	default:
		a, err = r.command(ctx, h, c)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return answer{}, fmt.Errorf("it has not answered within %v", limit)
	}
	return a, err
}

// command runs a command outside of the sandbox of the session. Its process group ends with it.
func (r *Runner) command(ctx context.Context, h *hookconfig.Hook, c *Call) (answer, error) {
	args := []string{r.opts.Shell, "-c", h.Command}
	if h.Exec {
		args = append([]string{h.Command}, h.Args...)
	}
	if args[0] == "" {
		return answer{}, errors.New("there is no shell")
	}
	path := args[0]
	if !strings.ContainsRune(path, filepath.Separator) {
		var err error
		if path, err = ownpath.Look(path); err != nil {
			return answer{}, err
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = r.opts.Root
	if h.Cwd != "" {
		if cmd.Dir = h.Cwd; !filepath.IsAbs(cmd.Dir) {
			cmd.Dir = filepath.Join(r.opts.Root, h.Cwd)
		}
	}
	cmd.Env = r.environ(h, c, cmd.Dir)
	stdout, stderr := &boundedBuffer{}, &boundedBuffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.payload(h.Dialect)), stdout, stderr
	cmd.WaitDelay = lingers
	procgroup.Own(cmd, syscall.SIGKILL)
	if err := procgroup.Start(cmd); err != nil {
		return answer{}, err
	}
	err := cmd.Wait()
	procgroup.Kill(cmd)
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return answer{}, errors.Join(err, context.Cause(ctx))
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 0 && stdout.over:
		return answer{}, fmt.Errorf("it has printed more than %d bytes", maxOutput)
	case code == 0:
		return read(stdout.kept.Bytes(), c.Event)
	case code == 2:
		why := bounded(stderr.String())
		if why == "" {
			why = bounded(stdout.String())
		}
		return answer{deny: true, reason: why}, nil
	case code < 0:
		return answer{}, fmt.Errorf("it ended by %s", cmd.ProcessState)
	default:
		return answer{}, fmt.Errorf("it ended with the exit status %d: %s", code, termtext.OneLine(stderr.String(), termtext.MaxLine))
	}
}

// environ is the environment of a command: without what looks like a credential, and with a PATH
// that has nothing an agent can write.
func (r *Runner) environ(h *hookconfig.Hook, c *Call, dir string) []string {
	env := sandbox.Environ(ownpath.Environ(r.opts.Env), sandbox.EnvRules{}, dir)
	env = append(env, "CLAUDE_PROJECT_DIR="+r.opts.Root, "GITHUB_WORKSPACE="+r.opts.Root, "AGENTWORKER_HOOK_EVENT="+string(c.Event))
	if c.Traceparent != "" {
		env = append(env, "TRACEPARENT="+c.Traceparent)
	}
	for name, value := range h.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// boundedBuffer keeps the beginning of what is written.
type boundedBuffer struct {
	kept bytes.Buffer
	over bool
}

func (b *boundedBuffer) String() string { return b.kept.String() }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := maxOutput - b.kept.Len()
	if len(p) > room {
		b.over = true
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}

// variable is a variable in the value of a header.
var variable = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?`)

// post sends the payload to a URL. It follows no redirect.
func (r *Runner) post(ctx context.Context, h *hookconfig.Hook, c *Call) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(c.payload(h.Dialect)))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "agentworker")
	if c.Traceparent != "" {
		req.Header.Set("traceparent", c.Traceparent)
	}
	for name, value := range h.Headers {
		req.Header.Set(name, variable.ReplaceAllStringFunc(value, func(v string) string {
			name := strings.Trim(v, "${}")
			for _, allowed := range h.EnvVars {
				if allowed == name && r.opts.Lookup != nil {
					value, _ := r.opts.Lookup(name)
					return value
				}
			}
			return ""
		}))
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	switch {
	case err != nil:
		return answer{}, err
	case len(body) > maxOutput:
		return answer{}, fmt.Errorf("it has answered with more than %d bytes", maxOutput)
	case resp.StatusCode/100 != 2:
		return answer{}, fmt.Errorf("it has answered %s", resp.Status)
	}
	return read(body, c.Event)
}

package worktree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/secrets"
)

// safe are the settings with which git is run on a repository. What else could
// name a program has no effect on the commands that are used.
var safe = []string{
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.fsmonitor=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "worktree.useRelativePaths=false",
}

// Git runs a command of git that only reads the repository of dir, and returns what it
// prints. It is for repositories of strangers: no program that their settings or
// attributes name is started.
func Git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	r := &repository{top: dir}
	env, err := r.override(ctx, "filter", "clean=", "process=", "smudge=", "required=false")
	if err != nil {
		return nil, err
	}
	return run(ctx, env, nil, append(append([]string{"-C", dir}, safe...), args...)...)
}

// override returns an environment for git in which every section of the settings, such
// as [filter "NAME"], has the given ones ("key=value").
func (r *repository) override(ctx context.Context, section string, settings ...string) ([]string, error) {
	names, err := r.git(ctx, nil, "config", "-z", "--name-only", "--get-regexp", `^`+section+`\.`)
	if err != nil && !isExit(err, 1) { // 1: there are none
		return nil, err
	}
	env, seen, n := r.env(), make(map[string]bool), 0
	for _, name := range splitNUL(names) {
		end := strings.LastIndexByte(name, '.')
		if end <= len(section) || seen[name[:end]] {
			continue
		}
		seen[name[:end]] = true
		for _, setting := range settings {
			key, value, _ := strings.Cut(setting, "=")
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s.%s", n, name[:end], key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
			n++
		}
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}

// run runs git, and returns what it prints. Nothing of the environment that
// would point git elsewhere is handed on.
func run(ctx context.Context, env []string, stdin []byte, args ...string) ([]byte, error) {
	path, err := ownpath.Look("git")
	if err != nil {
		return nil, fmt.Errorf("git is not found: %w", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(ownpath.Environ(environ()), env...) // git looks for others, too
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return stdout.Bytes(), &gitError{verb(args), said(stderr.String()), err}
	}
	return stdout.Bytes(), nil
}

// environ is the environment of git. It needs no keys.
func environ() []string {
	env := make([]string, 0, 32)
	for _, e := range secrets.Environ(os.Environ()) {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(strings.ToUpper(name), "GIT_") && name != "LC_ALL" && name != "LANGUAGE" {
			env = append(env, e)
		}
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
}

// gitError is a command of git that has failed.
type gitError struct {
	verb string
	said string // what git says; may be empty
	err  error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.verb, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.verb, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// verb returns the command among git's arguments.
func verb(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c" || args[i] == "-C":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// maxSaid bounds what is shown of git's messages.
const maxSaid = 600

// said returns what git says in one line.
func said(stderr string) string {
	lines := strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "fatal: "), "error: "))
	}
	text := strings.ToValidUTF8(strings.Join(lines, "; "), "\uFFFD")
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + " …"
	}
	return text
}

// RewriteIndex has git write the index of the repository of dir anew, in a second after the one
// of a moment, or of now if that is far ahead. Files of that second are then told by their times.
func RewriteIndex(ctx context.Context, dir string, after time.Time) error {
	const tick = 20 * time.Millisecond // the times of files lag behind the clock by up to a tick of the kernel
	if wait := time.Until(after.Truncate(time.Second).Add(time.Second + tick)); wait > 0 {
		select {
		case <-time.After(min(wait, time.Second+tick)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := Git(ctx, dir, "update-index", "-q", "--refresh", "--force-write-index")
	return err
}

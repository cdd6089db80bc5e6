//go:build hosts

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentworker/worker/eventbus/natstest"
)

// hostEnv keeps hosts in the folder of their test and on this machine: state,
// settings and caches below $WORK, no updates, no telemetry, no lists of models
// from elsewhere. What asks the network all the same gets no answer: its proxy
// is a port of loopback that nobody listens on.
var hostEnv = []string{
	"TERM=dumb",
	"NO_COLOR=1",
	"CI=true",
	"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9",
	"NO_PROXY=127.0.0.1,localhost",
	"DO_NOT_TRACK=1",
	"MCP_INSPECTOR_SECRET_STORE=memory",
	"OTEL_SDK_DISABLED=true",

	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", // updates, telemetry, error reports
	"DISABLE_AUTOUPDATER=1",

	"OPENCODE_DISABLE_AUTOUPDATE=1",
	"OPENCODE_DISABLE_MODELS_FETCH=1",
	"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
}

// TestHosts runs testdata/hosts: real hosts and clients, in the versions of
// package-lock.json there, call the worker. All models are the model server. $REPO is this
// repository. Besides the commands of TestScript:
//
//	answered REGEXP    a request to the model server holds a tool result like it
//	natsserver         starts a NATS server; its address is $NATS_ADDRESS
func TestHosts(t *testing.T) {
	packages := hostPackages(t)
	t.Setenv("PATH", strings.Join([]string{
		filepath.Join(packages, "opencode-linux-x64-baseline", "bin"),
		filepath.Join(packages, "@anthropic-ai", "claude-code-linux-x64"),
		filepath.Join(packages, "@openai", "codex", "vendor", "x86_64-unknown-linux-musl", "bin"),
		filepath.Join(packages, ".bin"), // node, mcp-inspector
		os.Getenv("PATH"),
	}, string(os.PathListSeparator)))
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){"answered": answered, "natsserver": func(ts *testscript.TestScript, _ bool, _ []string) {
		ts.Setenv("NATS_ADDRESS", strings.TrimPrefix(natstest.Start(t, server.Options{}).ClientURL(), "nats://"))
	}}
	for name, command := range scriptCommands {
		commands[name] = command
	}
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	places, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output() // by default they are below HOME
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Split(string(places), "\n")
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "hosts"),
		Cmds: commands,
		Setup: func(env *testscript.Env) error {
			s := &script{procs: make(map[string]*process), passed: []string{"WORKER_STATE_DIR"}}
			for _, setting := range hostEnv {
				name, _, _ := strings.Cut(setting, "=")
				s.passed = append(s.passed, name)
			}
			env.Values[scriptKey{}] = s
			env.Vars = append(env.Vars, hostEnv...)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home")) // not all hosts pass on where else state and settings are
			env.Setenv("PACKAGES", packages)
			env.Setenv("REPO", repo)
			env.Setenv("GOCACHE", caches[0])
			env.Setenv("GOMODCACHE", caches[1])
			// No host looks for a repository further up.
			return errors.Join(os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o755), os.MkdirAll(filepath.Join(env.WorkDir, ".git"), 0o755))
		},
	})
}

// hostPackages returns the folder of the installed packages. They stay there until the lock
// file changes.
func hostPackages(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join("testdata", "hosts", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	packages := filepath.Join(cache, "agentworker-hosts", hex.EncodeToString(sum[:8]), "node_modules")
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("%v: the hosts are not installed; .ci/hosts installs them", err)
	}
	return packages
}

func answered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answered REGEXP")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	output := ""
	for i, got := range state(ts).server.Received() {
		if got.Request == nil {
			output += fmt.Sprintf("request %d, %s, malformed: %s\n", i+1, got.Path, got.Body)
			continue
		}
		for _, msg := range got.Request.Messages {
			for _, result := range msg.ToolResults {
				if pattern.MatchString(result.Text) {
					return
				}
				output += fmt.Sprintf("request %d has the result %q\n", i+1, result.Text)
			}
		}
	}
	ts.Fatalf("no model has been told %q:\n%s", pattern, output)
}

package sandbox

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/internal/secrets"
)

// EnvRules say which variables a command gets.
type EnvRules struct {
	Keep []string // names that it gets though they look like a secret; none of WORKER_*
	Drop []string // names that it does not get

	// Git are settings of git that hold for the command, besides those of the
	// environment: names and values.
	Git [][2]string
}

// agents are variables with the socket of a program that signs, decrypts or
// runs things for the user, and variables that make programs run others.
var agents = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KUBECONFIG", "XDG_RUNTIME_DIR",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
	"NOTIFY_SOCKET", "INVOCATION_ID", "TMUX", "STY", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "AMQP_URL", "SSHPASS", "PGPASSFILE",
	"TMPDIR", "TMP", "TEMP", "XDG_STATE_HOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// quiet are variables that keep programs from opening an editor, a pager or a prompt, since
// nobody would answer, and from colouring their output.
var quiet = []string{
	"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "BAT_PAGER=cat", "GH_PAGER=cat", "AWS_PAGER=", "DELTA_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "TERM=dumb",
}

// quietUnset are further ones, for commands to which the environment says nothing else.
var quietUnset = []string{"NO_COLOR=1", "CI=true", "DEBIAN_FRONTEND=noninteractive"}

// quieted adds the variables of quiet to env, except for those in keep, and those of
// quietUnset that it lacks.
func quieted(env, keep []string) []string {
	named := func(in []string, name string) bool {
		return slices.ContainsFunc(in, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	for _, e := range quietUnset {
		if name, _, _ := strings.Cut(e, "="); !named(env, name) {
			env = append(env, e)
		}
	}
	for _, e := range quiet {
		name, _, _ := strings.Cut(e, "=")
		if slices.Contains(keep, name) && named(env, name) {
			continue
		}
		env = append(slices.DeleteFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") }), e)
	}
	return env
}

// Environ returns env for a command in a sandbox that runs in dir. It lacks the
// worker's own settings, keys, passwords and the sockets of agents, and it
// tells git not to use a bare repository found in a folder. What holds a key is
// told by the name of a variable, and by its value.
func Environ(env []string, rules EnvRules, dir string) []string {
	out := make([]string, 0, len(env)+4)
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PWD", strings.HasPrefix(strings.ToUpper(name), "WORKER_"), gitSetting(name):
			continue
		case slices.Contains(rules.Keep, name):
		case slices.Contains(rules.Drop, name), slices.Contains(agents, name), secrets.InVariable(name, value):
			continue
		}
		out = append(out, e)
	}
	out = quieted(out, rules.Keep)
	settings := append(gitSettings(env, rules.Keep), [2]string{"safe.bareRepository", "explicit"},
		// A hidden file has the size and time from the index, and another inode.
		[2]string{"core.checkStat", "minimal"}, [2]string{"core.trustctime", "false"})
	settings = append(settings, rules.Git...)
	for i, kv := range settings {
		n := strconv.Itoa(i)
		out = append(out, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)), "PWD="+dir, "TMPDIR=/tmp")
}

// gitSetting reports whether a variable is one of those by which the environment
// has settings of git: their number, and a key and a value for each.
func gitSetting(name string) bool {
	return name == "GIT_CONFIG_COUNT" || strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// gitSettings returns git's settings in env, except for secrets.
func gitSettings(env, keep []string) (settings [][2]string) {
	values := make(map[string]string)
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); gitSetting(name) {
			values[name] = value
		}
	}
	count, err := strconv.Atoi(values["GIT_CONFIG_COUNT"])
	if err != nil || count > 1000 {
		return nil
	}
	for i := range count {
		n := strconv.Itoa(i)
		key, value := values["GIT_CONFIG_KEY_"+n], values["GIT_CONFIG_VALUE_"+n]
		if key != "" && (slices.Contains(keep, "GIT_CONFIG_VALUE_"+n) || !secrets.InValue(key+" "+value)) {
			settings = append(settings, [2]string{key, value})
		}
	}
	return settings
}

// withProxy adds the variables by which programs find the proxy at addr.
func withProxy(env []string, addr string) []string {
	web := "http://" + addr
	return append(slices.Clip(env),
		"HTTP_PROXY="+web, "HTTPS_PROXY="+web, "http_proxy="+web, "https_proxy="+web,
		"ALL_PROXY=socks5h://"+addr, "all_proxy=socks5h://"+addr,
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		"npm_config_proxy="+web, "npm_config_https_proxy="+web, "NODE_USE_ENV_PROXY=1")
}

package sandbox

import (
	"slices"
	"strconv"
	"strings"
)

// EnvRules say which variables a command gets.
type EnvRules struct {
	Keep []string // names that it gets whatever else is said
	Drop []string // names that it does not get
}

// secretParts are parts of names of variables that hold keys and passwords,
// between underscores.
var secretParts = []string{
	"KEY", "APIKEY", "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT", "AUTH", "COOKIE", "DSN",
}

// agents are variables that name a socket of a program which signs, decrypts or
// runs things for the user, or that make programs run others.
var agents = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KUBECONFIG", "XDG_RUNTIME_DIR",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
	"NOTIFY_SOCKET", "INVOCATION_ID", "TMUX", "STY", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "AMQP_URL",
	"TMPDIR", "TMP", "TEMP", "XDG_STATE_HOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// Environ returns env for a command in a sandbox that runs in dir: without the
// worker's own settings, keys, passwords and the sockets of agents, and with
// git told to take no repository for one that lies bare in a folder.
func Environ(env []string, rules EnvRules, dir string) []string {
	out := make([]string, 0, len(env)+4)
	count := 0
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PWD":
			continue
		case name == "GIT_CONFIG_COUNT":
			if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 1000 {
				count = n
			}
			continue
		case slices.Contains(rules.Keep, name):
		case slices.Contains(rules.Drop, name), slices.Contains(agents, name), Secret(name):
			continue
		}
		out = append(out, e)
	}
	n := strconv.Itoa(count)
	return append(out, "PWD="+dir, "TMPDIR=/tmp",
		"GIT_CONFIG_COUNT="+strconv.Itoa(count+1), "GIT_CONFIG_KEY_"+n+"=safe.bareRepository", "GIT_CONFIG_VALUE_"+n+"=explicit")
}

// Secret reports whether a variable of this name holds a key or a password, or
// is one of the worker's own.
func Secret(name string) bool {
	upper := strings.ToUpper(name)
	if strings.HasPrefix(upper, "WORKER_") {
		return true
	}
	if strings.HasPrefix(upper, "GIT_CONFIG_KEY_") {
		return false
	}
	for part := range strings.SplitSeq(upper, "_") {
		if slices.Contains(secretParts, part) {
			return true
		}
	}
	return strings.HasSuffix(upper, "APIKEY") || strings.HasSuffix(upper, "PASSWORD") || strings.HasSuffix(upper, "TOKEN")
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

package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestEnvironSecrets: variables with a key do not reach a command, known by
// their name or by their value. Other variables do.
func TestEnvironSecrets(t *testing.T) {
	token := strings.Repeat("aB3", 12)
	dropped := []string{
		"PGPASSWORD=x", "MYSQL_PWD=x", "DB_PASS=x", "smtp_pw=x", "SSHPASS=x", "npm_config_//packages.example.com/:_authToken=x",
		"AZURE_STORAGE_CONNECTION_STRING=x", "AWS_SECRETACCESSKEY=x", "SLACK_WEBHOOK_URL=https://hooks/x", "PGPASSFILE=/p", "STRIPE-KEY=x",
		"A=sk-ant-" + token, "A=sk-proj-" + token, "A=ghp_" + token, "A=github_pat_" + token, "A=glpat-" + token, "A=rk_live_" + token,
		"A=AKIAIOSFODNN7EXAMPLE", "A=xoxb-123456789012-abc", "A=AIza" + token, "A=npm_" + token, "A=hf_" + token,
		"A=prefix -----BEGIN OPENSSH PRIVATE KEY-----\nx", "A=-----BEGIN PRIVATE KEY-----", "A=-----BEGIN RSA PRIVATE KEY-----",
		"A=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2ln", "A=Authorization: Bearer " + token, "A=authorization: basic " + token,
		"A=postgres://user:word@host/db", "A=https://:word@host", "A=Server=x;Password=word;", "A=host=x password=word",
		`A={"token": "ghp_` + token + `"}`, "SLACK_WEBHOOKS=x", "APIKEYS=x", "SESSION_COOKIES=x", "GITHUB_PATS=x",
		"A=SU" + strings.Repeat("AB7", 18) + "AB", "A=Endpoint=sb://h/;SharedAccessKey=" + strings.Repeat("aB3+", 11),
	}
	kept := []string{
		"PATH=/usr/bin", "OLDPWD=/x", "HOME=/h", "LANG=C", "KEYBOARD=us", "MONKEY=1", "COMPASS=n", "PATTERN=x", "TOKENIZER=x",
		"A=https://example.com:8080/path@2", "A=http://host/a:b@c", "A=git@github.com:a/b.git", "A=sk-short", "A=task-" + token,
		"A=eyJ.b.c", "A=basic auth", "A=-----BEGIN CERTIFICATE-----", "A=password", "NAMED_TOKEN=k", "NAMED_URL=https://a:b@c",
	}
	rules := sandbox.EnvRules{Keep: []string{"NAMED_TOKEN", "NAMED_URL"}}
	for _, e := range dropped {
		if got := sandbox.Environ([]string{e}, rules, "/ws"); slices.Contains(got, e) {
			t.Errorf("a command gets %q", e)
		}
	}
	for _, e := range kept {
		if got := sandbox.Environ([]string{e}, rules, "/ws"); !slices.Contains(got, e) {
			t.Errorf("a command misses %q", e)
		}
	}
}

// TestEnvironGitSettings: git's settings in the environment are numbered; without
// the one that holds a key they still are.
func TestEnvironGitSettings(t *testing.T) {
	got := sandbox.Environ([]string{
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c",
		"GIT_CONFIG_KEY_1=http.extraheader", "GIT_CONFIG_VALUE_1=AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46eHh4eA==",
		"GIT_CONFIG_KEY_2=d.e", "GIT_CONFIG_VALUE_2=",
	}, sandbox.EnvRules{}, "/ws")
	got = withoutQuiet(got)
	want := []string{
		"GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c", "GIT_CONFIG_KEY_1=d.e", "GIT_CONFIG_VALUE_1=",
		"GIT_CONFIG_KEY_2=safe.bareRepository", "GIT_CONFIG_VALUE_2=explicit",
		"GIT_CONFIG_KEY_3=core.checkStat", "GIT_CONFIG_VALUE_3=minimal", "GIT_CONFIG_KEY_4=core.trustctime", "GIT_CONFIG_VALUE_4=false", "GIT_CONFIG_COUNT=5", "PWD=/ws", "TMPDIR=/tmp",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// withoutQuiet returns env without the variables that every command gets.
func withoutQuiet(env []string) []string {
	every := sandbox.Environ(nil, sandbox.EnvRules{}, "/ws")
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return slices.Contains(every, e) && !strings.HasPrefix(e, "GIT_CONFIG_") && !strings.HasPrefix(e, "PWD=") && !strings.HasPrefix(e, "TMPDIR=")
	})
}

// TestEnvironQuiet: no command opens an editor or a pager, whatever the person uses. Keep
// names what stays; what a person has set for colours and CI stays too.
func TestEnvironQuiet(t *testing.T) {
	env := []string{"EDITOR=vim", "PAGER=less", "TERM=xterm-256color", "GIT_EDITOR=code --wait", "CI=false"}
	got := sandbox.Environ(env, sandbox.EnvRules{Keep: []string{"TERM", "VISUAL"}}, "/ws")
	for _, want := range []string{"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat",
		"GIT_TERMINAL_PROMPT=0", "TERM=xterm-256color", "CI=false", "NO_COLOR=1"} {
		if name, _, _ := strings.Cut(want, "="); !slices.Contains(got, want) || len(slices.DeleteFunc(slices.Clone(got), func(e string) bool { return !strings.HasPrefix(e, name+"=") })) != 1 {
			t.Errorf("%s is not once in %q", want, got)
		}
	}
}

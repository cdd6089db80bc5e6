package shell

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// A command that writes a file needs what write_file needs for it, however it
// is told the name.
func TestWrittenFiles(t *testing.T) {
	w := gitWorkspace(t, "")
	set := rules(t, `{"*":"allow","write_file":{"*":"allow","*.env":"deny"},"edit_file":{"*":"allow","*.env":"deny"}}`)
	for command, want := range map[string]permission.Action{
		"curl -so .env http://h":        permission.Deny,
		"curl -sLo .env http://h":       permission.Deny,
		"curl -D .env http://h":         permission.Deny,
		"curl -c .env http://h":         permission.Deny,
		"curl --stderr=.env http://h":   permission.Deny,
		"sort -uo .env README.md":       permission.Deny,
		"wget -qO .env http://h":        permission.Deny,
		"gunzip x.env.gz":               permission.Deny,
		"cp -r conf src":                permission.Deny, // conf/prod.env
		"cp -r conf new":                permission.Deny,
		"rsync -a conf/ src":            permission.Deny,
		"docker cp c:/x.env .":          permission.Deny,
		"git bundle create .env HEAD":   permission.Deny,
		"go test -cpuprofile=.env .":    permission.Deny,
		"tar -C conf -cf ../.env .":     permission.Deny,
		"curl -so docs/x http://h":      permission.Allow,
		"gunzip x.txt.gz":               permission.Allow,
		"cp -r src docs":                permission.Allow,
		"cp -r src new":                 permission.Allow,
		"rsync -a src/ docs":            permission.Allow,
		"docker cp c:/x.txt .":          permission.Allow,
		"grep -rno main src":            permission.Allow,
		"ps -eo pid":                    permission.Allow,
		"go test -coverprofile=c.out .": permission.Allow,
	} {
		if d := decideShell(t, w, set, command); d.Action != want {
			t.Errorf("%q: got %v (%s), want %v", command, d.Action, d.Reason(), want)
		}
	}
}

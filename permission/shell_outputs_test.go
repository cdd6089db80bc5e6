package permission

import "testing"

// A command that writes a file needs what write_file needs for it, however it
// is told the name.
func TestWrittenFiles(t *testing.T) {
	w := gitWorkspace(t, "")
	set := rules(t, `{"*":"allow","write_file":{"*":"allow","*.env":"deny"},"edit_file":{"*":"allow","*.env":"deny"}}`)
	for command, want := range map[string]Action{
		"curl -so .env http://h":        Deny,
		"curl -sLo .env http://h":       Deny,
		"curl -D .env http://h":         Deny,
		"curl -c .env http://h":         Deny,
		"curl --stderr=.env http://h":   Deny,
		"sort -uo .env README.md":       Deny,
		"wget -qO .env http://h":        Deny,
		"gunzip x.env.gz":               Deny,
		"cp -r conf src":                Deny, // conf/prod.env
		"cp -r conf new":                Deny,
		"rsync -a conf/ src":            Deny,
		"docker cp c:/x.env .":          Deny,
		"git bundle create .env HEAD":   Deny,
		"go test -cpuprofile=.env .":    Deny,
		"tar -C conf -cf ../.env .":     Deny,
		"curl -so docs/x http://h":      Allow,
		"gunzip x.txt.gz":               Allow,
		"cp -r src docs":                Allow,
		"cp -r src new":                 Allow,
		"rsync -a src/ docs":            Allow,
		"docker cp c:/x.txt .":          Allow,
		"grep -rno main src":            Allow,
		"ps -eo pid":                    Allow,
		"go test -coverprofile=c.out .": Allow,
	} {
		if d := decideShell(t, w, set, command); d.Action != want {
			t.Errorf("%q: got %v (%s), want %v", command, d.Action, d.Reason(), want)
		}
	}
}

package permission_test

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// TestNetwork holds that rules about hosts mean hosts and not spellings, and that a rule for
// every host means neither this machine and its network nor sockets.
func TestNetwork(t *testing.T) {
	for _, row := range []struct {
		rules, host string
		want        permission.Action
	}{
		{`{"*": "allow", "Example.com:443": "deny"}`, "example.com:443", permission.Deny},
		{`{"*": "allow", "example.com:443": "deny"}`, "EXAMPLE.com.:0443", permission.Deny},
		{`{"*": "allow", "example.com": "deny"}`, "example.com:8080", permission.Deny},
		{`{"*": "allow", "[2001:DB8::1]:*": "deny"}`, "[2001:db8:0::1]:443", permission.Deny},
		{`{"*": "allow", "203.0.113.5": "deny"}`, "[::ffff:203.0.113.5]:80", permission.Deny},
		{`{"*": "allow"}`, "example.com:443", permission.Allow},
		{`{"*": "allow"}`, "10.0.0.1:22", permission.Ask},
		{`{"*": "allow"}`, "localhost:22", permission.Ask},
		{`{"*": "allow"}`, "0.0.0.0:22", permission.Ask},
		{`{"*": "allow"}`, "[::]:22", permission.Ask},
		{`{"*": "allow"}`, "[fe80::1%eth0]:22", permission.Ask},
		{`{"*": "allow"}`, "127.1:22", permission.Ask},
		{`{"*": "allow", "10.*:22": "allow"}`, "10.0.0.1:22", permission.Allow},
		{`{"*": "allow", "[::1]:22": "allow"}`, "[::1]:22", permission.Allow},
		{`{"*": "allow", "[0-9]*": "allow"}`, "10.0.0.1:22", permission.Ask},
		{`{"*": "allow"}`, "unix:/run/docker.sock", permission.Ask},
		{`{"*": "allow", "**.sock": "allow"}`, "unix:/run/docker.sock", permission.Ask},
		{`{"*": "allow", "unix:/run/docker.sock": "allow"}`, "unix:/run/docker.sock", permission.Allow},
		{`{"*": "allow", "unix:/run/**": "deny"}`, "unix:/run/docker.sock", permission.Deny},
		{`{"*": "allow"}`, "*", permission.Allow},
	} {
		set, err := permission.ParseJSON([]byte(`{"network": `+row.rules+`}`), "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		layers := permission.Layers{Static: set}
		if d := layers.Decide([]permission.Value{{Tool: "network", Text: row.host}}); d.Action != row.want {
			t.Errorf("%s: %s is %v, want %v: %s", row.rules, row.host, d.Action, row.want, d.Reason())
		}
	}
	for _, pattern := range []string{"0x7f000001:80", "example.com:https", "10.0.0.0/8"} {
		if _, err := permission.ParseJSON([]byte(`{"network": {"`+pattern+`": "deny"}}`), "test", nil); err == nil {
			t.Errorf("%s denies nothing, and nobody is told", pattern)
		}
	}
}

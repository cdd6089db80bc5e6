package permission_test

import (
	"fmt"

	"github.com/agentworker/worker/permission"
)

// The user's rules allow reading everything; the agent's own rules keep it from
// one kind of file, and nothing gives that back.
func ExampleLayers_Decide() {
	agent, err := permission.ParseJSON([]byte(`{"*": "deny", "read_file": {"*": "allow", "*.env": "deny"}}`), "keeper.md", nil)
	if err != nil {
		panic(err)
	}
	static, err := permission.ParseJSON([]byte(`{"*": "allow"}`), "permissions.jsonc", nil)
	if err != nil {
		panic(err)
	}
	layers := permission.Layers{Agents: []*permission.Ruleset{agent}, Static: static}
	for _, path := range []string{"main.go", "config/.env"} {
		d := layers.Decide([]permission.Value{{Tool: "read_file", Text: path}})
		fmt.Println(d.Action, d.Layer)
		if d.Action == permission.Deny {
			fmt.Println(d.Reason())
		}
	}
	// Output:
	// allow static
	// deny agent
	// read_file "config/.env" is denied by the rule read_file: {"*.env": deny} (keeper.md:1). It is a rule of the agent: nobody can approve the call.
}

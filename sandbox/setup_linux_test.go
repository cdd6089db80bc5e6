package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestSetupFollowsNoLink: what a command leaves in the session's own folders does not lead the next
// one's set-up to make anything elsewhere, in the workspace or on the machine.
func TestSetupFollowsNoLink(t *testing.T) {
	for name, target := range map[string]string{"the workspace": "WS/evil", "a folder beside it": "WS/../evil", "relative": "../../evil", "/etc": "/etc/evil"} {
		for _, link := range []string{"go", ".cache"} {
			p := newPlace(t, all, `mkdir -p evil ../evil; mkdir -p ../home/go/pkg ../home/.cache/pip`, sandbox.Options{})
			p.input.Folders = []sandbox.Folder{}
			p.run(`ln -s ` + strings.Replace(target, "WS", p.root, 1) + ` ~/` + link)
			p.input.Folders = sandbox.DefaultFolders(p.home)
			if proc, err := p.session.Start(t.Context(), &sandbox.Command{Profile: sandbox.NewProfile(p.input), Args: []string{"true"}}); err == nil {
				_, _ = proc.Wait()
			}
			for _, dir := range []string{filepath.Join(p.root, "evil"), filepath.Join(p.root, "../evil"), filepath.Dir(p.root)} {
				for _, made := range []string{"pkg", "pip", "evil/pkg"} {
					if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
						t.Errorf("%s, %s: %s was made in %s", name, link, made, dir)
					}
				}
			}
		}
	}
}

package agentdefs_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestChurn does thousands of things to files from several sides at once. No
// agent of a file is ever served without its rules. When all is quiet, the
// snapshot equals a fresh load.
func TestChurn(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, ".claude/agents")
	for i := range 3 {
		put(t, filepath.Join(root, fmt.Sprint("target", i), "t.md"), agent(fmt.Sprint("T", i), "x"))
	}
	const writers, operations = 4, 1000
	text := func(r *rand.Rand, w int) string {
		return fmt.Sprintf("---\nname: w%d-%d\ndescription: %d\npermission:\n  \"*\": allow\n  shell_exec: deny\n---\nWork.\n", w, r.IntN(8), r.IntN(1e6))
	}
	must(t, os.MkdirAll(dir, 0o777))
	l := openT(t, root, &agentdefs.Options{RescanEvery: 50 * time.Millisecond})
	var all sync.WaitGroup
	for w := range writers {
		r := rand.New(rand.NewPCG(uint64(w), 1))
		all.Go(func() {
			own := filepath.Join(dir, fmt.Sprint("d", w))
			file := func() string { return filepath.Join(own, fmt.Sprintf("%d.md", r.IntN(12))) }
			for range operations {
				_ = os.MkdirAll(own, 0o777)
				switch r.IntN(9) { // an error is one of the things that happen
				case 0, 1: // truncate and write
					_ = os.WriteFile(file(), []byte(text(r, w)), 0o666)
				case 2: // in two parts
					if f, err := os.Create(file()); err == nil {
						s := text(r, w)
						cut := r.IntN(len(s))
						_, _ = f.WriteString(s[:cut])
						_, _ = f.WriteString(s[cut:])
						_ = f.Close()
					}
				case 3: // replace
					at := file()
					_ = os.WriteFile(at+"~", []byte(text(r, w)), 0o666)
					_ = os.Rename(at+"~", at)
				case 4:
					_ = os.Rename(file(), file())
				case 5:
					_ = os.Remove(file())
				case 6:
					_ = os.Chmod([]string{own, file()}[r.IntN(2)], fs.FileMode([]int{0, 0o777}[r.IntN(2)]))
				case 7: // a folder goes, or another takes its place
					_ = os.Chmod(own, 0o777)
					_ = os.Rename(own, own+"-old")
					_ = os.RemoveAll(own + "-old")
				case 8: // a link is pointed elsewhere
					at := filepath.Join(own, "link")
					_ = os.Symlink(filepath.Join(root, fmt.Sprint("target", r.IntN(3))), at+"~")
					_ = os.Rename(at+"~", at)
				}
			}
			_ = os.Chmod(own, 0o777)
			_ = filepath.WalkDir(own, func(path string, e fs.DirEntry, err error) error {
				if err == nil && e.Type().IsRegular() {
					return os.Chmod(path, 0o666)
				}
				return nil
			})
		})
	}
	all.Wait()
	l.untilFresh(fmt.Sprint(writers*operations, " operations"))
	for _, c := range l.changes {
		for _, d := range c.Snapshot.Agents() {
			if !d.BuiltIn && d.Name[0] == 'w' && !d.Permission.DeniesAll("shell_exec") {
				t.Errorf("snapshot %d: %s has rules %q", c.Snapshot.Version, d.Name, agentdefstest.Rules(d))
			}
		}
	}
	t.Logf("%d snapshots", len(l.changes))
}

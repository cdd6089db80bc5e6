package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentworker/worker/tool"
)

func TestWriteFile(t *testing.T) {
	for _, c := range []struct {
		name    string
		path    string
		content string
		says    string
		file    string // where the content is then
	}{
		{"new", "new.txt", "a\nb\n", "created new.txt: 2 lines, 4 bytes", "new.txt"},
		{"new folders", "x/y/z.txt", "a", "created x/y/z.txt: 1 line, 1 byte", "x/y/z.txt"},
		{"replace", "old.txt", "", "replaced old.txt: 0 lines, 0 bytes", "old.txt"},
		{"through a link", "link.txt", "b\n", "replaced link.txt: 1 line, 2 bytes", "old.txt"},
		{"through a dangling link", "dangling", "b\n", "created dangling: 1 line, 2 bytes", "sub/made.txt"},
		{"through a linked folder", "folder/n.txt", "b\n", "created folder/n.txt: 1 line, 2 bytes", "sub/n.txt"},
		{"a name with spaces", "a b.txt", "x", "created a b.txt: 1 line, 1 byte", "a b.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil, map[string]string{
				"old.txt": "old", "link.txt": "-> old.txt", "sub/s": "", "dangling": "-> sub/made.txt", "folder": "-> sub",
			})
			got := p.text("write_file", args{"path": c.path, "content": c.content})
			if got != c.says || p.read(c.file) != c.content {
				t.Errorf("write_file(%s): %q, content of %s %q; want %q, %q", c.path, got, c.file, p.read(c.file), c.says, c.content)
			}
			for _, link := range []string{"link.txt", "dangling", "folder"} {
				if info, err := os.Lstat(filepath.Join(p.dir, link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("write_file(%s): %s is no link any more (%v)", c.path, link, err)
				}
			}
		})
	}
}

func TestWriteFileKeepsMode(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"run.sh": "old", "fixed": "old"})
	for name, mode := range map[string]os.FileMode{"run.sh": 0o750, "fixed": 0o444} {
		if err := os.Chmod(filepath.Join(p.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	p.text("write_file", args{"path": "run.sh", "content": "new"})
	p.text("edit_file", args{"path": "run.sh", "oldText": "new", "newText": "newer"})
	info, err := os.Stat(filepath.Join(p.dir, "run.sh"))
	if err != nil || info.Mode().Perm() != 0o750 || p.read("run.sh") != "newer" {
		t.Errorf("run.sh: mode %v, content %q (%v), want 0750, newer", info.Mode(), p.read("run.sh"), err)
	}
	p.fails("write_file", args{"path": "fixed", "content": "new"}, "fixed is read-only (mode 0444)")
	if p.read("fixed") != "old" {
		t.Errorf("fixed was changed to %q", p.read("fixed"))
	}
}

func TestWriteFileRefuses(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"dir/f": "x"})
	for path, want := range map[string]string{
		"dir":     "it is a folder",
		"dir/":    "names no file",
		".":       "it is a folder",
		"dir/f/g": "dir/f/g: ",
		"":        "names no file",

		strings.Repeat("n", 300): "file name too long",
	} {
		p.fails("write_file", args{"path": path, "content": "y"}, want)
	}
	p.fails("write_file", args{"path": "none/../../x", "content": "y"}, "is outside the workspace")
	p.wantTree("dir", "dir/f")
}

// wantTree checks that these are all paths in the workspace: above all that no
// temporary file was left.
func (p *place) wantTree(want ...string) {
	p.t.Helper()
	var got []string
	err := filepath.WalkDir(p.dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(p.dir, path); rel != "." {
			got = append(got, rel)
		}
		return err
	})
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		p.t.Errorf("the workspace holds %q (%v), want %q", got, err, want)
	}
}

// Edits of one file at once: every one is kept, and a reader never sees half a file.
func TestEditsAtOnce(t *testing.T) {
	const n = 20
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "<%02d>\n", i)
	}
	p := newPlace(t, nil, map[string]string{"f": content.String()})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r := p.call("edit_file", args{"path": "f", "oldText": fmt.Sprintf("<%02d>", i), "newText": fmt.Sprintf("[%02d]", i)})
			if r.IsError {
				t.Errorf("edit %d: %s", i, r.Text)
			}
		})
		wg.Go(func() {
			if got := p.text("read_file", args{"path": "f"}); !strings.Contains(got, "    20→") {
				t.Errorf("read while it was edited: %q", got)
			}
		})
	}
	wg.Wait()
	want := strings.NewReplacer("<", "[", ">", "]").Replace(content.String())
	if got := p.read("f"); got != want {
		t.Errorf("after %d edits at once: got %q, want %q", n, got, want)
	}
	p.wantTree("f")
}

func TestWriteFileBoundsContent(t *testing.T) {
	p := newPlace(t, &tool.Options{MaxFileBytes: 10}, nil)
	p.fails("write_file", args{"path": "a/f", "content": strings.Repeat("x", 11)}, "content has 11 B, more than the 10 B that a file may have")
	p.wantTree()
	p.text("write_file", args{"path": "f", "content": strings.Repeat("x", 10)})
}

// endsAt is a context that ends, by itself, when its end is asked for the n-th
// time: so every moment at which a tool asks is tried.
type endsAt struct {
	context.Context
	end func()
	n   *atomic.Int32
}

func (c endsAt) Err() error {
	if c.n.Add(-1) < 0 {
		c.end()
	}
	return c.Context.Err()
}

// A cancelled call leaves the file unchanged and nothing next to it, whenever the end
// comes.
func TestWriteCancelled(t *testing.T) {
	for name, a := range map[string]args{
		"write_file": {"path": "f", "content": strings.Repeat("new", 1<<17)},
		"edit_file":  {"path": "f", "oldText": "old", "newText": strings.Repeat("new", 1<<17)},
	} {
		for at, done := int32(0), false; !done; at++ {
			if at == 50 {
				t.Fatalf("%s: never written", name)
			}
			p := newPlace(t, nil, map[string]string{"f": "old"})
			ctx, cancel := context.WithCancel(t.Context())
			n := new(atomic.Int32)
			n.Store(at)
			r := p.callWith(endsAt{ctx, cancel, n}, name, a, nil)
			cancel()
			done = !r.IsError
			if r.IsError && (p.read("f") != "old" || !strings.Contains(r.Text, "context canceled")) {
				t.Errorf("%s cancelled at moment %d: %q, content of %d bytes", name, at, r.Text, len(p.read("f")))
			}
			if done && at < 4 {
				t.Errorf("%s asks for the end of its context %d times only", name, at)
			}
			p.wantTree("f")
		}
	}
}

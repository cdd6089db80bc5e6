//go:build unix

package tool_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
)

// Pipes and sockets are refused; a walk passes them by. Were one opened, the
// test would hang.
func TestSpecialFiles(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a.txt": "text\n", "link": "-> pipe"})
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(p.dir, ".gitignore"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(p.dir) // the path of a socket must be short
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{"pipe", "link", "sock"} {
		p.fails("read_file", args{"path": path}, "neither a file nor a folder")
		p.fails("write_file", args{"path": path, "content": "x"}, "neither a file nor a folder")
		p.fails("edit_file", args{"path": path, "oldText": "a", "newText": "b"}, "neither a file nor a folder")
		p.fails("grep", args{"path": path, "pattern": "x"}, "neither a file nor a folder")
	}
	if got := p.text("grep", args{"pattern": "t"}); got != "a.txt:1: text" {
		t.Errorf("grep: got %q", got)
	}
	want := lines(".gitignore  (a pipe, socket or device)", "a.txt  5 B", "link -> pipe", "pipe  (a pipe, socket or device)", "sock  (a pipe, socket or device)")
	if got := p.text("list_dir", nil); got != want {
		t.Errorf("list_dir:\ngot:\n%s\nwant:\n%s", got, want)
	}
	if got := p.text("glob", args{"pattern": "**"}); got != "a.txt\nlink" {
		t.Errorf("glob: got %q", got)
	}
}

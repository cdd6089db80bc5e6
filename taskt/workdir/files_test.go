package workdir_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/taskt/workdir"
)

func TestFilesSame(t *testing.T) {
	here := workdir.Files{Host: "a", Root: "/srv/w", ID: "1"}
	for _, c := range []struct {
		name  string
		other workdir.Files
		want  string // in the error; empty means they are the same
	}{
		{"the same", here, ""},
		{"another machine", workdir.Files{Host: "b", Root: "/srv/w", ID: "1"}, "/srv/w on a, and this worker's are those of /srv/w on b"},
		{"another folder", workdir.Files{Host: "a", Root: "/srv/v", ID: "2"}, "/srv/v"},
		{"made anew", workdir.Files{Host: "a", Root: "/srv/w", ID: "2"}, "is not the one"},
		{"only one says shared", workdir.Files{Host: "b", Root: "/srv/w", ID: "1", Shared: true}, "--shared-files"},
	} {
		if err := here.Same(c.other); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	shared, other := here, workdir.Files{Host: "b", Root: "/mnt/w", Shared: true}
	shared.Shared = true
	if err := shared.Same(other); err != nil {
		t.Error(err)
	}
	for _, unknown := range []workdir.Files{{}, {Root: "/w", ID: "1"}, {Host: "a", Root: "/w"}} {
		if unknown.Same(unknown) == nil {
			t.Errorf("%+v may be of two machines, or two folders", unknown)
		}
	}
	if err := (workdir.Files{Host: "a", Root: "/w", Local: true}).Same(workdir.Files{Host: "b", Root: "/w", Local: true}); err != nil {
		t.Error("a machine has another name: ", err)
	}
	dir := t.TempDir()
	if err := workdir.FilesOf(dir, true, false).Same(workdir.FilesOf(dir, true, false)); err != nil {
		t.Error(err)
	}
}

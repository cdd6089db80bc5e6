package permission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func tempWorkspace(t testing.TB) Workspace {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := Workspace{Root: filepath.Join(base, "ws"), Home: filepath.Join(base, "home")}
	for _, dir := range []string{w.Root, w.Home, filepath.Join(w.Root, "src"), filepath.Join(w.Root, "docs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestPathValues(t *testing.T) {
	w := tempWorkspace(t)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(w.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(".env", "a")
	link("a", "b")
	link("src", "lib")
	link("../out", "docs/away")
	link("/etc", "etc")
	link("gone/there", "dangling")
	link("loop2", "loop1")
	link("loop1", "loop2")
	if err := os.WriteFile(filepath.Join(w.Root, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(w.Root)
	for path, want := range map[string][]string{
		".":                        {"."},
		"src/x":                    {"src/x"},
		"./src//x/.":               {"src/x"},
		"src/../docs/y/":           {"docs/y"},
		"a":                        {"a", ".env"},
		"b":                        {"b", "a", ".env"},
		"lib/new.go":               {"lib/new.go", "src/new.go"},
		"docs/away/x":              {"docs/away/x", "out/x"},
		"etc/passwd":               {"etc/passwd", "/etc/passwd"},
		"dangling":                 {"dangling", "gone/there"},
		".env/x/..":                {".env"},
		"lib/../x":                 {"x"},
		"../other":                 {base + "/other"},
		w.Root + "/src":            {"src"},
		w.Root:                     {"."},
		"~/x":                      {w.Home + "/x"},
		"$HOME/x":                  {w.Home + "/x"},
		"~":                        {w.Home},
		"~x/y":                     {"~x/y"},
		"a b":                      {"a b"},
		" ../../../../../../../..": {" ../../../../../../../.."},
	} {
		values, err := w.PathValues("read_file", path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		var got []string
		for _, v := range values {
			got = append(got, v.Text)
			if v.Abs == "" || v.Tool != "read_file" {
				t.Errorf("%q: %+v has no path or another tool", path, v)
			}
		}
		if path[0] == ' ' {
			continue // no symlinks: only that it is no error
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"", "  ", "a\x00b", "loop1", "loop1/x", strings.Repeat("a/", 2049)} {
		if values, err := w.PathValues("read_file", path); err == nil {
			t.Errorf("%q: got %v, want an error", path, values)
		}
	}
}

// "x/.." is above what the link x leads to, for those who do not clean first.
func TestPathValuesAboveALink(t *testing.T) {
	w := tempWorkspace(t)
	if err := os.MkdirAll(filepath.Join(w.Root, "secrets/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secrets/deep", filepath.Join(w.Root, "x")); err != nil {
		t.Fatal(err)
	}
	values, err := w.PathValues("read_file", "x/../key")
	if err != nil || !slices.ContainsFunc(values, func(v Value) bool { return v.Text == "secrets/key" }) || values[0].Text != "key" {
		t.Errorf("got %v, %v, want key and secrets/key", values, err)
	}
}

func TestPathValuesHomeIsALink(t *testing.T) {
	w := tempWorkspace(t)
	home := w.Home + "-link"
	if err := os.Symlink(w.Home, home); err != nil {
		t.Fatal(err)
	}
	w.Home = home
	real, _ := filepath.EvalSymlinks(home)
	r, err := ParseJSON([]byte(`{"*":"allow","read_file":{"~/.ssh/**":"deny"}}`), "f", &ParseOptions{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"~/.ssh/id", home + "/.ssh/id", real + "/.ssh/id"} {
		values, err := w.PathValues("read_file", path)
		if d := (&Layers{Static: r}).Decide(values); err != nil || d.Action != Deny {
			t.Errorf("%s: got %v, %v, want deny", path, d.Action, err)
		}
	}
}

func BenchmarkPathValues(b *testing.B) {
	w := tempWorkspace(b)
	for b.Loop() {
		if _, err := w.PathValues("read_file", "src/main.go"); err != nil {
			b.Fatal(err)
		}
	}
}

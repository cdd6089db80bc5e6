package permission

import (
	"os"
	"path/filepath"
	"testing"
)

// Where a folder takes names in any case, what a rule denies is denied in any.
func TestFoldedPaths(t *testing.T) {
	w := tempWorkspace(t)
	folding := filepath.Join(w.Root, "Data")
	if err := os.Mkdir(folding, 0o755); err != nil {
		t.Fatal(err)
	}
	set := rules(t, `{"read_file":{"*":"allow","*.env":"deny","*.PEM":"deny","Data/Secrets/**":"deny","`+w.Root+`/Data/abs":"deny"},"write_file":"allow","edit_file":"allow"}`)
	for _, c := range []struct {
		path  string
		folds Action // in a file system that folds Data
		plain Action
	}{
		{"Data/.ENV", Deny, Allow},
		{"Data/.env", Deny, Deny},
		{"Data/key.pem", Deny, Allow},
		{"Data/SECRETS/x", Deny, Allow},
		{"Data/ABS", Deny, Allow},
		{"Data/x", Allow, Allow},
		{"src/.ENV", Allow, Allow}, // folders differ
	} {
		for _, folds := range []bool{true, false} {
			w.folds = func(dir string) bool { return folds && dir == folding }
			want := c.plain
			if folds {
				want = c.folds
			}
			values, err := w.PathValues("read_file", c.path)
			if err != nil {
				t.Fatal(err)
			}
			if d := (&Layers{Static: set}).Decide(values); d.Action != want {
				t.Errorf("%s, folding %v: got %v (%s), want %v", c.path, folds, d.Action, d.Reason(), want)
			}
		}
	}
}

// Two names of one file are what a folder that folds case shows.
func TestFoldIsFoundOut(t *testing.T) {
	w := tempWorkspace(t)
	plain := w.FoldsCase(filepath.Join(w.Root, "src")) // of the file system that this runs on
	name := filepath.Join(w.Root, "src", "name")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(name, filepath.Join(w.Root, "src", "NAME")); err != nil && !plain {
		t.Fatal(err)
	}
	for _, path := range []string{"src/name", "src/NAME", "src/new", "src/name/x"} {
		if !w.FoldsCase(filepath.Join(w.Root, path)) {
			t.Errorf("%s: not found out", path)
		}
	}
	for _, path := range []string{"docs/x", "src", "none/x"} {
		if got := w.FoldsCase(filepath.Join(w.Root, path)); got != plain {
			t.Errorf("%s: got %v, want %v", path, got, plain)
		}
	}
}

package natsstore_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/embedded"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// TestFolderIsGone: the processes of a store whose folder is removed, or replaced
// by another one, end with the reason. They write nothing into the other folder.
func TestFolderIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		says string
		do   func(t *testing.T, dir string) error
	}{
		"removed":    {"was removed", func(_ *testing.T, dir string) error { return os.RemoveAll(dir) }},
		"moved away": {"was removed", func(_ *testing.T, dir string) error { return os.Rename(dir, dir+"-2") }},
		"restored from a copy": {"another folder", func(_ *testing.T, dir string) error {
			return errors.Join(os.CopyFS(dir+"-2", os.DirFS(dir)), os.Rename(dir, dir+"-3"), os.Rename(dir+"-2", dir))
		}},
		"made anew": {"another folder", func(t *testing.T, dir string) error {
			err := errors.Join(os.Rename(dir, dir+"-2"), os.Mkdir(dir, 0o700))
			if err == nil {
				openStore(t, dir)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "nats")
			var stores []*natsstore.Store
			lost := make(chan error, 2)
			for range cap(lost) {
				store, err := natsstore.Open(t.Context(), &natsstore.Options{StoreDir: dir, Lost: func(err error) { lost <- err }})
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				stores = append(stores, store)
			}
			if _, err := stores[0].EnsureStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if _, err := stores[1].JetStream().Publish(t.Context(), "s", []byte("text")); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.do(t, dir); err != nil {
				t.Fatal(err)
			}
			before := listing(t, dir)
			for range stores {
				if err := <-lost; !errors.Is(err, embedded.ErrMoved) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, want that the folder %s", err, tt.says)
				}
			}
			for _, s := range stores {
				if _, err := s.JetStream().Publish(t.Context(), "s", []byte("text")); !errors.Is(err, embedded.ErrMoved) {
					t.Errorf("a later operation: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if after := listing(t, dir); !maps.Equal(after, before) {
				for path := range after {
					if after[path] != before[path] {
						t.Errorf("%s was written", path)
					}
				}
				t.Errorf("the folder has %d files, before %d", len(after), len(before))
			}
		})
	}
}

// TestFolderIsGoneAtClose: closing the store before that was noticed reports it once.
func TestFolderIsGoneAtClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nats")
	var told []error
	store, err := natsstore.Open(t.Context(), &natsstore.Options{StoreDir: dir, Lost: func(err error) { told = append(told, err) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-2"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if len(told) != 1 || !errors.Is(told[0], embedded.ErrMoved) {
		t.Errorf("told: %v", told)
	}
}

// listing returns the files below dir, and their content: without those by which
// processes meet, and without the indexes of streams. A server that stops writes
// them by their names; the next one checks an index before it uses it.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != "index.db" && filepath.Base(filepath.Dir(path)) != "rendezvous" {
			var data []byte
			data, err = os.ReadFile(path)
			files[path] = string(data)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

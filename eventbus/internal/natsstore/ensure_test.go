package natsstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestEnsure: a stream with the requested settings is opened without a change, since the
// server would write a change to the disk.
func TestEnsure(t *testing.T) {
	dir := t.TempDir()
	ensure := func(age time.Duration) (streamAge, bucketAge time.Duration) {
		t.Helper()
		s := openStore(t, dir)
		defer s.Close()
		stream, err := s.EnsureStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxAge: age})
		if err != nil {
			t.Fatal(err)
		}
		kv, err := s.EnsureBucket(t.Context(), jetstream.KeyValueConfig{Bucket: "B", TTL: age})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.EnsureObjects(t.Context(), jetstream.ObjectStoreConfig{Bucket: "O", TTL: age}); err != nil {
			t.Fatal(err)
		}
		status, err := kv.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().Config.MaxAge, status.TTL()
	}
	files := func() (all []os.FileInfo) {
		t.Helper()
		for _, name := range []string{"S", "KV_B", "OBJ_O"} {
			info, err := os.Stat(filepath.Join(dir, "jetstream", "$G", "streams", name, "meta.inf"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, info)
		}
		return all
	}
	ensure(time.Hour)
	first := files()
	ensure(time.Hour)
	for i, f := range files() {
		if !os.SameFile(f, first[i]) || !f.ModTime().Equal(first[i].ModTime()) {
			t.Errorf("description %d was written anew", i)
		}
	}
	for _, age := range []time.Duration{2 * time.Hour, 0, time.Hour} {
		if s, b := ensure(age); s != age || b != age {
			t.Errorf("asked for %v, got %v and %v", age, s, b)
		}
	}
}

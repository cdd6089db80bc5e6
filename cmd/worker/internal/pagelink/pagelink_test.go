package pagelink

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// TestAnother: the token goes to the process that has noted where its page is,
// and not to a program that has its port later on.
func TestAnother(t *testing.T) {
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"url":"http://127.0.0.1:1/login?link=x"}`))
	}))
	defer web.Close()
	dir := t.TempDir()
	held, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	note := func(lock string) {
		data, err := json.Marshal(Address{web.URL, 1, lock})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, File), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, pageLockPrefix+"left"+pageLockSuffix)
	if err := errors.Join(os.WriteFile(left, nil, 0o600), os.WriteFile(filepath.Join(dir, "other.lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(dir, "other.lock"))
	if ok, err := other.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer other.Close()
	for _, lock := range []string{"", filepath.Base(left), "page-gone.lock", "other.lock", "../" + filepath.Base(dir) + "/" + filepath.Base(held.Path())} {
		note(lock)
		if link, err := Ask(t.Context(), dir, "", ""); !errors.Is(err, ErrNoPage) || asked > 0 {
			t.Errorf("lock %q: %q, %v, asked %d times", lock, link, err, asked)
		}
	}
	note(filepath.Base(held.Path()))
	if link, err := Ask(t.Context(), dir, "", ""); err != nil || link == "" {
		t.Errorf("of the process that holds it: %q, %v", link, err)
	}
	next, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed process has left stays: %v", err)
	}
	if err := errors.Join(held.Close(), next.Close()); err != nil {
		t.Error(err)
	}
}

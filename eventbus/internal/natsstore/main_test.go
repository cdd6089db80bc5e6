package natsstore_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // parallel tests wait for most of their time
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func openStore(t *testing.T, dir string) *natsstore.Store {
	t.Helper()
	store, err := natsstore.Open(t.Context(), &natsstore.Options{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

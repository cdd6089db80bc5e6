// Package policytest opens policies for tests.
package policytest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/policy"
)

// Open returns the policy of a file with this text, and the path of the file, which a test
// may write again.
func Open(t testing.TB, text string) (above *policy.Store, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "policy.jsonc")
	err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	if above, err = policy.Open(file); err != nil {
		t.Fatal(err)
	}
	return above, file
}

// Package samples reads the samples that the tests of the permission packages
// are held against.
package samples

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// Read decodes each line of the JSON lines file at path. A line that is not a
// T ends the test.
func Read[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", path, len(all)+1, err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

package agentdefs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
)

// BenchmarkLoad loads workspaces made of the corpus over and over.
func BenchmarkLoad(b *testing.B) {
	corpus := readCorpus(b)
	for _, count := range []int{100, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			root := b.TempDir()
			files := map[string]string{}
			var size int
			for i := range count {
				f := corpus[i%len(corpus)]
				data, err := os.ReadFile(filepath.Join("testdata/corpus", f.File))
				if err != nil {
					b.Fatal(err)
				}
				files[fmt.Sprintf(".claude/agents/%d/%d-%s", i%10, i, path.Base(f.File))] = strings.Replace(string(data), "name: ", fmt.Sprintf("name: a%d-", i), 1)
				size += len(data)
			}
			write(b, root, files)
			b.SetBytes(int64(size))
			for b.Loop() {
				s, err := agentdefs.Load(root, nil)
				if err != nil || len(s.Agents()) < count*9/10 {
					b.Fatalf("%d agents, %v", len(s.Agents()), err)
				}
			}
		})
	}
}

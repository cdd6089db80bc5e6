package sessions

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/model"
)

// packed returns an archive of entries, in their order.
func packed(t testing.TB, entries [][2]string, kind byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		if err := archive.WriteHeader(&tar.Header{Name: e[0], Typeflag: kind, Size: int64(len(e[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sample() *Bundle {
	rec := recording.New()
	rec.Conversation(recording.NewNormal(nil), []model.Message{{Role: model.User, Text: "x"}, {Role: model.Assistant, Text: "y"}})
	return &Bundle{
		Manifest: Manifest{Version: Version, Agent: "a", Agents: map[string]string{"a.md": Hash([]byte("agent"))}}, Recording: rec,
		Calls: []Call{{Agent: "a", Tool: "grep"}}, Agents: map[string][]byte{"a.md": []byte("agent")},
	}
}

// TestHostile: what is no bundle, or would leave its folder, is refused.
func TestHostile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := sample().Write(file); err != nil {
		t.Fatal(err)
	}
	if b, err := Open(file); err != nil || string(b.Agents["a.md"]) != "agent" || len(b.Recording.Calls) != 1 || len(b.Calls) != 1 {
		t.Fatalf("a bundle: %+v, %v", b, err)
	}
	for _, name := range []string{
		"../x", "/etc/x", "agents/../../x.md", "agents/..md", "agents/.x.md", "agents/a/b.md", `agents/a\b.md`, "agents/.md", "other",
		"agents/" + strings.Repeat("a", 200) + ".md",
	} {
		if _, err := Read(bytes.NewReader(packed(t, [][2]string{{name, "x"}}, tar.TypeReg))); err == nil || !strings.Contains(err.Error(), "does not belong") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(bytes.NewReader(packed(t, [][2]string{{manifestEntry, "{}"}, {manifestEntry, "{}"}}, tar.TypeReg))); err == nil {
		t.Error("an entry may be there twice")
	}
	if _, err := Read(bytes.NewReader(packed(t, [][2]string{{manifestEntry, ""}}, tar.TypeSymlink))); err == nil {
		t.Error("an entry may be a link")
	}
	changed := sample()
	changed.Agents["a.md"] = []byte("another")
	if err := changed.Write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "is not the one that the manifest names") {
		t.Errorf("a changed agent file: %v", err)
	}
	if _, err := Open(filepath.Dir(file)); err == nil {
		t.Error("a folder is a bundle")
	}
}

// FuzzRead: whatever a file holds, reading it ends, and what is read has agent files with
// names of one part.
func FuzzRead(f *testing.F) {
	file := filepath.Join(f.TempDir(), "b.tar.gz")
	if err := sample().Write(file); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(packed(f, [][2]string{{"agents/../x.md", "x"}}, tar.TypeReg))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for name := range b.Agents {
			if filepath.Base(name) != name || !filepath.IsLocal(name) {
				t.Errorf("the agent file %q", name)
			}
		}
	})
}

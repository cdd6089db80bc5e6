package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/cmd/worker/internal/app"
)

// TestPackaging compares the files for packages with the code: the stamped variable, the
// packed files, and the commands and settings of units and images.
func TestPackaging(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	release := read(".goreleaser.yaml")
	var doc struct {
		Builds []struct {
			Main   string
			Goos   []string
			Goarch []string
		}
		Nfpms []struct {
			Formats  []string
			Contents []struct{ Src string }
		}
	}
	if err := yaml.Unmarshal([]byte(release), &doc); err != nil || len(doc.Builds) != 1 || len(doc.Nfpms) != 1 {
		t.Fatalf("%v: %+v", err, doc)
	}
	if b := doc.Builds[0]; b.Main != "./cmd/worker" || len(b.Goos)*len(b.Goarch) != 6 || len(doc.Nfpms[0].Formats) != 3 {
		t.Errorf("%+v", doc)
	}
	for _, c := range doc.Nfpms[0].Contents {
		if !strings.HasPrefix(c.Src, "dist-files/") { // which hooks make
			read(c.Src)
		}
	}
	unit, image := read("packaging/worker.service"), read("Dockerfile")
	version := read("cmd/worker/internal/app/version.go")
	for _, m := range regexp.MustCompile(`-X github.com/agentworker/worker/(\S+)\.(\w+)=`).FindAllStringSubmatch(release+image, -1) {
		if m[1] != "cmd/worker/internal/app" || !strings.Contains(version, "\nvar "+m[2]+" string\n") {
			t.Errorf("there is no variable %s.%s", m[1], m[2])
		}
	}
	p := &program{&app.Program{}}
	root := p.rootCommand()
	_, start, _ := strings.Cut(unit, "\nExecStart=/usr/bin/worker ")
	start, _, _ = strings.Cut(start, "\n")
	for _, args := range [][]string{strings.Fields(start), {"mcp"}, {"man"}} {
		if cmd, _, err := root.Find(args); err != nil || cmd == root {
			t.Errorf("there is no command %q: %v", args, err)
		}
	}
	for _, m := range regexp.MustCompile(`\bWORKER_([A-Z_]+)=`).FindAllStringSubmatch(unit+image, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], "_", "-"))
		if root.PersistentFlags().Lookup(name) == nil {
			t.Errorf("there is no setting %s", name)
		}
	}
}

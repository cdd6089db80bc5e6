package program

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Columns of programs.txt that the program reads.
const known = ` takes skip code asks module files first words exact flags prints-none keeps-index settings posix other plain assigns subflags does has `

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(programsText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		for name := range strings.SplitSeq(fields[0], ",") {
			if seen[name] {
				t.Errorf("%s has two rows", name)
			}
			seen[name] = true
		}
		for _, f := range fields[1:] {
			name, _, _ := strings.Cut(f, "=")
			name, _, _ = strings.Cut(name, ".")
			if !strings.Contains(known, " "+name+" ") {
				t.Errorf("%s: there is no column %s", fields[0], name)
			}
		}
	}
}

// What is known of a program is in its row: no code names a program.
func TestNoProgramIsNamedElsewhere(t *testing.T) {
	// Values of Does, subcommands of git and words of the shell that are also names.
	free := map[string]bool{"find": true, "xargs": true, "awk": true, "sed": true, "git": true, "shell": true, "set": true, "eval": true, "test": true, "script": true, "command": true,
		"mv": true, "diff": true, "export": true, "readonly": true, "pushd": true}
	for _, dir := range []string{".", "../../shell"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if _, ok := n.(*ast.ImportSpec); ok {
					return false
				}
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				s, _ := strconv.Unquote(lit.Value)
				if isLetters(s) && len(s) > 1 && programs[s] != nil && !free[s] {
					t.Errorf("%s names %q, of which programs.txt has a row", path, s)
				}
				return true
			})
		}
	}
}

func TestRunsInline(t *testing.T) {
	for line, want := range map[string]bool{
		"python3 x.py": false, "python3 -m pytest -x": false, "python3 -c x": true, "python3 -m pdb x": true, "python3 -m http.server 80": false, "python3 -mhttp.server -d x": false, "python3 -m http.server --cgi": true, "python3 -m": true, "python3": true, "node -e x": true,
		"sed s/a/b/": false, "sed 10,20{=;p}": false, "sed -e :a -e $!N;s/\\n//;ta": false, "sed s@a@b@": false, "sed s/a/b/e": true, "sed 1e": true, "sed -f x": true, "sed w": true,
		"awk {print}": false, "awk a||b": false, "awk a|b": true, "awk system(x)": true, "awk -f x": true,
	} {
		words := strings.Fields(line)
		if got := Lookup(words[0]).RunsInline(words) != ""; got != want {
			t.Errorf("%s: got %t, want %t", line, got, want)
		}
	}
}

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is what the files of a folder declare, and import under which name.
type named struct {
	declares map[string]bool     // Name, and Type.Method or Type.Field
	imports  map[string]string   // the paths
	through  map[string][]string // of a type, the types whose methods it has besides its own: Type or pkg.Type
}

var (
	afterName     = regexp.MustCompile(`[/.]v[0-9]+$|\.go$`) // what a path has behind the name of its package
	docLink       = regexp.MustCompile(`\[\*?(?:([a-z][a-zA-Z0-9]*)\.)?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	pathInComment = regexp.MustCompile(`(?:^|[\s("'])((?:agentdefs|bench|cmd|docs|eventbus|frontdoor|hooks|internal|model|packaging|permission|policy|sandbox|session|taskt|testdata|tool)(?:/[\w-]+)*/[\w-]+\.(?:go|md|jsonc?|ya?ml|sh|txt|txtar|html|js|css))\b`)
)

// doneMark ends a stream of chat completions.
const doneMark = "[DONE]"

// TestReferences holds that what comments refer to exists: a name in brackets, as
// [ast.File], and a file by its path from the top of the repository.
func TestReferences(t *testing.T) {
	set := token.NewFileSet()
	folders := make(map[string]*named)
	files := make(map[string]*ast.File)
	walkGo(t, func(name string, text []byte) {
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
		dir := path.Dir(name)
		if folders[dir] == nil {
			folders[dir] = &named{declares: make(map[string]bool), imports: make(map[string]string), through: make(map[string][]string)}
		}
		folders[dir].add(file)
	})
	for name, file := range files {
		here := path.Dir(name)
		for _, group := range file.Comments {
			text := group.Text()
			for _, m := range docLink.FindAllStringSubmatch(text, -1) {
				if m[0] != doneMark && !resolves(folders, here, m[1], m[2]) {
					t.Errorf("%s: the comment has %s, which is not declared", set.Position(group.Pos()), m[0])
				}
			}
			for _, m := range pathInComment.FindAllStringSubmatch(text, -1) {
				if !isThere(m[1]) && !isThere(path.Join(here, m[1])) {
					t.Errorf("%s: the comment names %s, and there is no such file", set.Position(group.Pos()), m[1])
				}
			}
		}
	}
}

// isThere reports whether the repository has a file.
func isThere(name string) bool {
	_, err := os.Stat(filepath.Join("..", "..", name))
	return err == nil
}

// resolves reports whether a package or a type that a folder's comments call pkg has
// the name. A package of others has all names. One of ours may be named without being
// imported, as by those that it imports.
func resolves(folders map[string]*named, here, pkg, name string) bool {
	at := folders[here]
	if pkg == "" {
		return has(folders, here, name)
	}
	if at.declares[pkg] && has(folders, here, pkg+"."+name) {
		return true
	}
	if from, imported := at.imports[pkg]; imported {
		dir, ours := strings.CutPrefix(from, module)
		return !ours || has(folders, dir, name)
	}
	for dir, other := range folders {
		if path.Base(dir) == pkg && has(folders, dir, name) {
			return true
		}
		if from, imported := other.imports[pkg]; imported && !strings.HasPrefix(from, module) {
			return true
		}
	}
	return false
}

// has reports whether a folder declares a name, or the member of a type that the type
// has by an alias or an embedded type.
func has(folders map[string]*named, dir, name string) bool {
	at := folders[dir]
	if at == nil || at.declares[name] {
		return at != nil
	}
	typ, member, ok := strings.Cut(name, ".")
	if !ok {
		return false
	}
	for _, to := range at.through[typ] {
		pkg, other, qualified := strings.Cut(to, ".")
		if !qualified {
			pkg, other = "", to
		}
		if resolves(folders, dir, pkg, other+"."+member) {
			return true
		}
	}
	return false
}

// add adds what a file declares and imports.
func (n *named) add(file *ast.File) {
	for _, spec := range file.Imports {
		from := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(afterName.ReplaceAllString(from, ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		n.imports[name] = from
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				n.declares[d.Name.Name] = true
			} else {
				n.declares[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						n.declares[name.Name] = true
					}
				case *ast.TypeSpec:
					n.addType(s)
				}
			}
		}
	}
}

// addType adds a type, its fields, and the methods of an interface.
func (n *named) addType(s *ast.TypeSpec) {
	n.declares[s.Name.Name] = true
	var fields *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		if s.Assign.IsValid() {
			n.through[s.Name.Name] = append(n.through[s.Name.Name], typeName(typ))
		}
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			n.declares[s.Name.Name+"."+name.Name] = true
		}
		if len(field.Names) == 0 {
			n.through[s.Name.Name] = append(n.through[s.Name.Name], typeName(field.Type))
		}
	}
}

// typeName returns the name of a type, with that of its package if it is another's.
func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok {
			return pkg.Name + "." + sel.Sel.Name
		}
	}
	return receiver(e)
}

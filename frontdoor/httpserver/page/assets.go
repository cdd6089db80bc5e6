package page

import (
	"embed"
	"encoding/hex"
	"hash/fnv"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/agentworker/worker/session/record"
)

//go:embed assets
var files embed.FS

// asset is a file that the browser asks for.
type asset struct {
	data []byte
	kind string // Content-Type
	etag string
}

// kinds are the types of the files, whatever the system says of them.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// assets serves the files of the page, by their names.
type assets struct {
	answers
	files map[string]asset
}

func newAssets(out answers) *assets {
	a := &assets{out, make(map[string]asset)}
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		panic(err) // the pattern is a good one
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is within the program
		}
		hash := fnv.New64a()
		hash.Write(data)
		a.files[path.Base(name)] = asset{data, kinds[path.Ext(name)], `"` + hex.EncodeToString(hash.Sum(nil)) + `"`}
	}
	return a
}

// file answers with a file. The browser keeps it, and asks whether it has changed.
func (a *assets) file(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	name := r.PathValue("file")
	f, ok := a.files[name]
	if !ok || strings.HasSuffix(name, ".html") {
		a.fail(w, &record.NotFoundError{What: "file", ID: name})
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", f.etag)
	header.Set("Content-Type", f.kind)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.write(w, http.StatusOK, f.data)
}

// html answers with a document. values alternates names with texts: {{NAME}} in the document
// becomes the text. It may be between tags or in a quoted attribute. With html/template, the
// linker could not leave out methods that nothing calls.
func (a *assets) html(w http.ResponseWriter, status int, name string, values ...string) {
	setHeaders(w)
	for i := range values {
		if i%2 == 0 {
			values[i] = "{{" + values[i] + "}}"
		} else {
			values[i] = html.EscapeString(values[i])
		}
	}
	w.Header().Set("Content-Type", kinds[".html"])
	a.write(w, status, []byte(strings.NewReplacer(values...).Replace(string(a.files[name].data))))
}

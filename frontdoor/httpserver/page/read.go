package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// read reads the body of a request, which is JSON of a known form.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &caller.Error{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send JSON, with the header 'Content-Type: application/json'",
		}
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return caller.BadRequest(fmt.Errorf("reading the request: %w", err))
	}
	return nil
}

// others returns the sorted names that a map has besides some.
func others[V any](all map[string]V, but []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return slices.Contains(but, name) })
}

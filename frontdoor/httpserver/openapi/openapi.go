// Package openapi has the description of the HTTP door: an OpenAPI 3.1 document, which
// is written by hand. The tests of package httpserver hold it against the handlers.
package openapi

import _ "embed"

// Document is the document, in YAML.
//
//go:embed openapi.yaml
var Document []byte

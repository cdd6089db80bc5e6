package termtext

import "regexp"

// ourTags matches the start of the tags that frame texts for models, as leniently as a reader
// might.
var ourTags = regexp.MustCompile(`(?i)<([^\pL<>]*(?:skill|task|web)_)`)

// EscapeTags returns the text of a stranger with the tags escaped by which texts are framed for
// models: it can't end a frame, or begin one.
func EscapeTags(text string) string { return ourTags.ReplaceAllString(text, "&lt;$1") }

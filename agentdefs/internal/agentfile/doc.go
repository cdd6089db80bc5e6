// Package agentfile reads the text of an agent file into fields with their
// places: encoding, frontmatter, YAML, and what can be recovered of a frontmatter
// that is not valid YAML.
//
// No Markdown library reads it. What is recovered of a frontmatter needs line
// numbers that none keeps. For fences in the body goldmark finds the same in real
// files, but it takes seconds for 64 KiB of nested quotes, and the time of a load
// must not depend on what a repository holds.
package agentfile

// Package agentfile reads the text of an agent file into fields with their
// places: encoding, frontmatter, YAML, and what can be recovered of a frontmatter
// that is not valid YAML.
//
// No Markdown library reads it. What is recovered of a frontmatter needs line
// numbers that none keeps. goldmark finds the same fences in real files. But it
// takes seconds for 64 KiB of nested quotes, and no repository may make a load
// that slow.
package agentfile

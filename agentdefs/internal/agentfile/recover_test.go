package agentfile_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestRecovery holds what is read of files with mistakes. The corpus has real
// ones.
func TestRecovery(t *testing.T) {
	for _, tt := range recoveryCases {
		t.Run(tt.name, func(t *testing.T) {
			s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": tt.file}, nil)
			d, ok := s.Agent("a")
			if ok != (tt.description != "") || ok && (d.Description != tt.description || tt.prompt != "" && d.Prompt != tt.prompt) {
				t.Errorf("%q: served %v, %+v; want %q, %q; %v", tt.file, ok, d, tt.description, tt.prompt, s.Diagnostics())
			}
			for _, code := range tt.codes {
				if !slices.Contains(agentdefstest.Codes(s), code) {
					t.Errorf("%q: diagnostics %v, want %s", tt.file, s.Diagnostics(), code)
				}
			}
			if tt.codes == nil && ok && tt.prompt != "" && len(s.Diagnostics()) > 0 {
				t.Errorf("%q: diagnostics %v, want none", tt.file, s.Diagnostics())
			}
		})
	}
}

// recoveryCases are files with mistakes, and what is read of them.
var recoveryCases = []struct {
	name, file  string
	description string // empty means not served
	prompt      string
	codes       []string
}{
	{"well-formed", "---\ndescription: Does it.\n---\nWork.", "Does it.", "Work.", nil},
	{"CRLF", "---\r\ndescription: Does it.\r\n---\r\nWork.\r\nWell.", "Does it.", "Work.\nWell.", nil},
	{"CR", "---\rdescription: Does it.\r---\rWork.", "Does it.", "Work.", nil},
	{"byte order mark", "\xEF\xBB\xBF---\ndescription: Does it.\n---\nWork.", "Does it.", "Work.", []string{"encoding-bom"}},
	{"UTF-16 LE", "\xFF\xFE" + wide("---\ndescription: Döes it 🙂.\n---\nWork.", false), "Döes it 🙂.", "Work.", []string{"encoding-utf16"}},
	{"UTF-16 BE", "\xFE\xFF" + wide("---\ndescription: Does it.\n---\nWork.", true), "Does it.", "Work.", []string{"encoding-utf16"}},
	{"UTF-16 without a mark", wide("---\ndescription: Does it.\n---\nWork.", false), "Does it.", "Work.", []string{"encoding-utf16"}},
	{"bad bytes", "---\ndescription: Does it.\n---\nW\xFFrk.\n", "Does it.", "W\uFFFDrk.", []string{"encoding-invalid"}},
	{"bad bytes in permission", "---\ndescription: Does it.\npermission: {read_file: {\"\xFF*\": deny}}\n---\nWork.\n", "", "", []string{"encoding-invalid", "permission-invalid"}},
	{"bad bytes in a name", "---\ndescription: Does it.\nperm\x00ission: {\"*\": deny}\n---\nWork.\n", "", "", []string{"encoding-nul", "permission-invalid"}},
	{"comment first", "<!-- a\nb -->\n---\ndescription: Does it.\n---\nWork.", "Does it.", "Work.", []string{"frontmatter-preceded"}},
	{"no body", "---\ndescription: Does it.\n---\n", "Does it.", "", []string{"body-empty"}},
	{"prompt as a field", "---\ndescription: Does it.\nprompt: Work.\n---\n", "Does it.", "Work.", []string{"body-from-field"}},
	{"no closing fence", "---\ndescription: Does it.\n\n# Role\nWork.", "Does it.", "# Role\nWork.", []string{"frontmatter-unclosed"}},
	{"closing fence with text", "---\ndescription: Does it.\n---Work.", "Does it.", "Work.", []string{"frontmatter-unclosed"}},
	{"closed by dots", "---\ndescription: Does it.\n...\nWork.", "Does it.", "Work.", []string{"frontmatter-unclosed"}},
	{"unclosed, then permission", "---\ndescription: Does it.\n# Access\npermission: {\"*\": deny}\n", "", "", []string{"frontmatter-unclosed", "permission-invalid"}},
	{"second document", "---\ndescription: \"Does it.\"\n--- x\npermission: {\"*\": deny}\n---\nWork.", "\"Does it.\"\n--- x", "Work.", []string{"yaml-invalid"}},
	{"duplicate", "---\ndescription: Does that.\ndescription: Does it.\n---\nWork.", "Does it.", "Work.", []string{"field-duplicate"}},
	{"colon", "---\ndescription: Does it: well.\ncolor: red\n---\nWork.", "Does it: well.", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"comment below", "---\ndescription: Does it: well.\n# Other\ncolor: red\n---\nWork.", "Does it: well.", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"broken quotes", "---\ndescription: \"Does \"it\".\"\n---\nWork.", "Does \"it\".", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"block in column 0", "---\ndescription: |\nDoes it\nwell.\ncolor: red\n---\nWork.", "Does it\nwell.", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"indented header", "---\n  name: a\n  description: Does it: well.\n---\nWork.", "Does it: well.", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"dialogue", "---\ndescription: Does it: well.\nuser: hi\nmodel: x\n---\nWork.", "Does it: well.\nuser: hi", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"dialogue with a field's name", "---\ndescription: Does it: well.\nIn short\noutput: x\nmodel: y\n---\nWork.", "Does it: well.\nIn short\noutput: x", "Work.", []string{"field-repaired"}},
	{"fields in an example", "---\ndescription: Does: it.\n<example>\nname: b\nmodel: x\n</example>\n---\nWork.", "Does: it.\n<example>\nname: b\nmodel: x\n</example>", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"an example without end", "---\ndescription: Does: it. <example>\nmodel: x\n---\nWork.", "Does: it. <example>", "Work.", []string{"field-repaired", "yaml-invalid"}},
	{"permission in an example", "---\ndescription: Does: it.\n<example>\ntools: []\n</example>\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"permission indented", "---\ndescription: Does: it.\n  permission: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"permission indented below another field", "---\ndescription: Does it.\nvibe: a: b\n permission: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"tools of a server", "---\ndescription: Does: it.\nmcp-servers:\n\ts:\n\t\ttools: [a]\n---\nWork.", "Does: it.", "Work.", []string{"field-repaired"}},
	{"odd key", "---\ndescription: Does: it.\n? permission\n: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a name with a character that cannot be seen", "---\ndescription: Does: it.\n\u200bpermission: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a name behind a form feed", "---\ndescription: Does it.\n\fpermission: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a name in two alphabets", "---\ndescription: Does: it.\n\u0440ermission: {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a name with an escape", "---\ndescription: Does: it.\n\"permissi\\u006fn\": {}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"no colon", "---\ndescription: Does: it.\npermission {\"*\": deny}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"an equals sign", "---\ndescription: Does it.\ntools = Read\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a wide colon", "---\ndescription: Does it.\ntools：Read\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a text that speaks of tools", "---\ndescription: Does: it.\nTools and permissions are few.\n---\nWork.", "Does: it.\nTools and permissions are few.", "Work.", []string{"field-repaired"}},
	{"disable indented below another field", "---\ndescription: Does it.\nvibe: a: b\n disable: true\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"two byte order marks", "\xEF\xBB\xBF\xEF\xBB\xBF---\ndescription: Does it.\n---\nWork.", "Does it.", "Work.", []string{"encoding-bom"}},
	{"a second frontmatter", "---\ndescription: Does it.\n---\n\n---\nmodel: x\ntools: []\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"closed too early", "---\ndescription: Does it.\n-----\npermission: {\"*\": deny}\n---\nWork.", "", "", []string{"permission-invalid"}},
	{"a text that begins like a field", "---\ndescription: Does it.\n---\nName: x\n\ntools: y", "Does it.", "Name: x\n\ntools: y", nil},
	{"misspelt", "---\ndesciption: Does it.\n---\nWork.", "Does it.", "Work.", []string{"field-misspelled"}},
	{"escapes", "---\ndescription: Does \\\"it\\\".\\nWell.\n---\nWork.", "Does \"it\".\nWell.", "Work.", []string{"description-escapes"}},
	{"escapes in a block", "---\ndescription: |\n  Does it.\\nWell.\n---\nWork.", "Does it.\\nWell.", "Work.", nil},
	{"nothing but escapes", "---\ndescription: \\n\\t\n---\nWork.", "", "", []string{"description-missing"}},
	{"no description", "---\nname: a\n---\nWork.", "", "", []string{"description-missing"}},
	{"description is a list", "---\ndescription: [Does it.]\n---\nWork.", "", "", []string{"description-missing", "field-type"}},
	{"name with line ends", "---\nname: \"a\\nb\"\ndescription: Does it.\n---\nWork.", "", "", []string{"name-invalid"}},
	{"name with a mark of direction", "---\nname: \"a\u202eb\"\ndescription: Does it.\n---\nWork.", "", "", []string{"name-invalid"}},
	{"name with a space without width", "---\nname: gener\u200bal\ndescription: Does it.\n---\nWork.", "", "", []string{"name-invalid"}},
	{"empty frontmatter", "---\n---\nWork.", "", "", []string{"description-missing"}},
	{"a rule, not a fence", "---\n---\nNote: work.", "", "", []string{"description-missing"}},
	{"large frontmatter", "---\ndescription: Does it.\nx: " + strings.Repeat("y", 1<<18) + "\n---\nWork.", "", "", []string{"file-unreadable"}},
	{"alias", "---\nx: &a Does it.\ndescription: *a\n---\nWork.", "", "", []string{"description-missing", "field-unparsed"}},
}

// wide is s in UTF-16.
func wide(s string, big bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		hi, lo := byte(u>>8), byte(u)
		if big {
			hi, lo = lo, hi
		}
		out = append(out, lo, hi)
	}
	return string(out)
}

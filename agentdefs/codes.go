package agentdefs

// The codes of diagnostics. They are stable: people filter by them.
const (
	codeFileUnreadable      = "file-unreadable"
	codeDescriptionMissing  = "description-missing"
	codeNameDuplicate       = "name-duplicate"
	codeNameInvalid         = "name-invalid"
	codeToolsNoneRecognized = "tools-none-recognized"
	codePermissionInvalid   = "permission-invalid"

	codeYAMLInvalid          = "yaml-invalid"
	codeFieldRepaired        = "field-repaired"
	codeFieldUnparsed        = "field-unparsed"
	codeFieldDuplicate       = "field-duplicate"
	codeFieldType            = "field-type"
	codeFieldRange           = "field-range"
	codeFieldMisspelled      = "field-misspelled"
	codeToolUnknown          = "tool-unknown"
	codePermissionWidening   = "permission-widening-ignored"
	codeModelUnknown         = "model-unknown"
	codeDirectoryShadowed    = "directory-shadowed"
	codeAgentShadowsBuiltin  = "agent-shadows-builtin"
	codeEncodingBOM          = "encoding-bom"
	codeEncodingUTF16        = "encoding-utf16"
	codeEncodingInvalid      = "encoding-invalid"
	codeEncodingNUL          = "encoding-nul"
	codeFrontmatterMissing   = "frontmatter-missing"
	codeFrontmatterUnclosed  = "frontmatter-unclosed"
	codeFrontmatterUnopened  = "frontmatter-unopened"
	codeFrontmatterIndented  = "frontmatter-indented"
	codeFrontmatterPreceded  = "frontmatter-preceded"
	codeFrontmatterCodeFence = "frontmatter-in-code-fence"
	codeFenceLong            = "frontmatter-fence-long"
	codeFenceDoubled         = "frontmatter-fence-doubled"

	codeFieldUnsupported   = "field-unsupported"
	codeToolNoCounterpart  = "tool-no-counterpart"
	codeDescriptionEscapes = "description-escapes"
	codeDescriptionLong    = "description-long"
	codeNameNotSlug        = "name-not-slug"
	codeNameDiffers        = "name-differs-from-file"
	codeBodyEmpty          = "body-empty"
	codeBodyFromField      = "body-from-field"
	codeAgentShadows       = "agent-shadows"
	codeAgentDisabled      = "agent-disabled"
)

// severities holds the severity of each code.
var severities = map[string]Severity{
	codeFileUnreadable:      Error,
	codeDescriptionMissing:  Error,
	codeNameDuplicate:       Error,
	codeNameInvalid:         Error,
	codeToolsNoneRecognized: Error,
	codePermissionInvalid:   Error,

	codeYAMLInvalid:          Warning,
	codeFieldRepaired:        Warning,
	codeFieldUnparsed:        Warning,
	codeFieldDuplicate:       Warning,
	codeFieldType:            Warning,
	codeFieldRange:           Warning,
	codeFieldMisspelled:      Warning,
	codeToolUnknown:          Warning,
	codePermissionWidening:   Warning,
	codeModelUnknown:         Warning,
	codeDirectoryShadowed:    Warning,
	codeAgentShadowsBuiltin:  Warning,
	codeEncodingBOM:          Warning,
	codeEncodingUTF16:        Warning,
	codeEncodingInvalid:      Warning,
	codeEncodingNUL:          Warning,
	codeFrontmatterMissing:   Warning,
	codeFrontmatterUnclosed:  Warning,
	codeFrontmatterUnopened:  Warning,
	codeFrontmatterIndented:  Warning,
	codeFrontmatterPreceded:  Warning,
	codeFrontmatterCodeFence: Warning,
	codeFenceLong:            Warning,
	codeFenceDoubled:         Warning,

	codeFieldUnsupported:   Information,
	codeToolNoCounterpart:  Information,
	codeDescriptionEscapes: Information,
	codeDescriptionLong:    Information,
	codeNameNotSlug:        Information,
	codeNameDiffers:        Information,
	codeBodyEmpty:          Information,
	codeBodyFromField:      Information,
	codeAgentShadows:       Information,
	codeAgentDisabled:      Information,
}

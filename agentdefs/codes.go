package agentdefs

import "slices"

// The codes of diagnostics. They are stable: people filter by them.
const (
	codeFileUnreadable      = "file-unreadable"
	codeDescriptionMissing  = "description-missing"
	codeNameDuplicate       = "name-duplicate"
	codeNameInvalid         = "name-invalid"
	codeToolsNoneRecognized = "tools-none-recognized"
	codePermissionInvalid   = "permission-invalid"
	codeOutputInvalid       = "output-invalid"
	codeFolderTooLarge      = "folder-too-large"

	codeYAMLInvalid          = "yaml-invalid"
	codeFieldRepaired        = "field-repaired"
	codeFieldUnparsed        = "field-unparsed"
	codeFieldDuplicate       = "field-duplicate"
	codeFieldType            = "field-type"
	codeFieldRange           = "field-range"
	codeFieldMisspelled      = "field-misspelled"
	codeFieldUnknown         = "field-unknown"
	codeToolUnknown          = "tool-unknown"
	codePermissionWidening   = "permission-widening-ignored"
	codeRestrictionIgnored   = "restriction-ignored"
	codePatternLiteral       = "pattern-literal"
	codePermissionShadowed   = "permission-shadowed"
	codeModelUnknown         = "model-unknown"
	codeDirectoryShadowed    = "directory-shadowed"
	codeSubfolderUnread      = "subfolder-unread"
	codeAgentShadowsBuiltin  = "agent-shadows-builtin"
	codeAliasTaken           = "alias-taken"
	codeNameCase             = "name-case"
	codeAgentStale           = "agent-stale"
	codeWatchPolling         = "watch-polling"
	codeBodyFenceUnclosed    = "body-fence-unclosed"
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

	codeFoldersUnread      = "folders-unread"
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

// Code says what a diagnostic's code means, in Markdown of one line.
type Code struct {
	ID       string
	Severity Severity
	Meaning  string
	Help     string // what to do about it
}

// Codes returns every code that a diagnostic may have, errors first.
func Codes() []Code { return slices.Clone(codes) }

var codes = []Code{
	{codeFileUnreadable, Error, "the file or folder cannot be read, is no regular file, has over 1 MiB, or its frontmatter over 128 KiB", "make it a readable text file, or move text below the frontmatter"},
	{codeDescriptionMissing, Error, "there is no description, or it is empty", "add `description:`"},
	{codeNameDuplicate, Error, "a file before it in the folder has the same name", "give one of them another name"},
	{codeNameInvalid, Error, "the name holds characters that control or cannot be seen, or has over 200", "write a short name in one line"},
	{codeToolsNoneRecognized, Error, "none of the names in `tools` is a tool here; the file is served, and the list allows nothing", "name at least one tool"},
	{codePermissionInvalid, Error, "what decides about permission, or about who may call the agent, cannot be read exactly; the file is refused", "see the message, and \"What is refused\" in docs/agent-files.md"},
	{codeOutputInvalid, Error, "`output` is no JSON Schema that can be kept to; the file is refused", "correct it, or remove it"},
	{codeFolderTooLarge, Error, "the folder has more than 5,000 folders or 20,000 agent files below it; the rest is not read", "name a smaller folder, or remove a symlink that leads elsewhere"},

	{codeYAMLInvalid, Warning, "the frontmatter is no valid YAML and was read field by field", "quote the text, or write `description: |` and indent it"},
	{codeFieldRepaired, Warning, "the text or list of one field was taken as it stands", "the same; `tools` as a YAML list"},
	{codeFieldUnparsed, Warning, "the field cannot be read, or uses an alias; it is ignored", "write it as valid YAML"},
	{codeFieldDuplicate, Warning, "the field is there twice; the last one counts", "remove one"},
	{codeFieldType, Warning, "the value has the wrong type; it is ignored. An empty `tools` is a list of none; `disable` and `disable-model-invocation` count as true, `inspectable` as false", "write a value of the type in the table of fields"},
	{codeFieldRange, Warning, "the number is out of range; it is ignored, or the largest is used for whole numbers above it", "write one within the range"},
	{codeFieldMisspelled, Warning, "the name is taken for that of a known field", "write it as the message says"},
	{codeFieldUnknown, Warning, "the field is not known, and its name is close to that of one which is; it is kept, without effect", "write the name that the message says, if it is meant"},
	{codeToolUnknown, Warning, "a name is no tool here, or says more than can be kept to; in a mapping: a name that no built-in tool has, and under `permission` only if it is close to one", "use the name of a tool, or write the rule under `permission`"},
	{codePermissionWidening, Warning, "`permissionMode`, `approvalMode` or `sandbox_mode` would let the agent do more; it is ignored", "remove it; the user's rules decide"},
	{codeRestrictionIgnored, Warning, "the field would restrict the agent in the tool that it comes from, and has no or not its full effect here", "say it under `permission`, or do not rely on it"},
	{codePatternLiteral, Warning, "a pattern that denies is no valid glob; it denies what it says as a plain text", "put a backslash before characters that mean themselves"},
	{codePermissionShadowed, Warning, "a rule never counts: one that comes later matches all that it does, and says something else", "write the wider rule first and the narrower one behind it, or remove the rule"},
	{codeModelUnknown, Warning, "none of the models is known, or none has the key here that it needs; the caller's is used", "name a configured model, or `inherit`"},
	{codeDirectoryShadowed, Warning, "the folder is not read, because one before it exists", "move its files there, or remove the other folder"},
	{codeSubfolderUnread, Warning, "a subfolder of `.agents/agents` holds agent files; subfolders of it are not read", "move the files up"},
	{codeAgentShadowsBuiltin, Warning, "the agent replaces a built-in one", "nothing if it is meant; else another name"},
	{codeAliasTaken, Warning, "the alias is the name or an alias of another agent, which keeps it, also while its file is not served", "choose another alias, or remove it"},
	{codeNameCase, Warning, "two agents have names that differ in case, or in how Unicode writes a letter, alone", "rename one of them"},
	{codeAgentStale, Warning, "the file cannot be served as it is now; the version before stays in force", "correct the file, or remove it to stop the agent"},
	{codeWatchPolling, Warning, "the system does not tell of changes in the folder, so it is looked at every 2 seconds", "see the message: raise a limit, or use a local disk"},
	{codeBodyFenceUnclosed, Warning, "a code fence in the text below the frontmatter is never closed, so the rest is code", "close it"},
	{codeEncodingBOM, Warning, "the file begins with a byte order mark", "save it as UTF-8 without one"},
	{codeEncodingUTF16, Warning, "the file is UTF-16", "save it as UTF-8"},
	{codeEncodingInvalid, Warning, "bytes that are no UTF-8 were replaced", "save it as UTF-8"},
	{codeEncodingNUL, Warning, "NUL characters were replaced", "remove them"},
	{codeFrontmatterMissing, Warning, "the file has no frontmatter and is no agent", "add it, or move the file out of the folder"},
	{codeFrontmatterUnclosed, Warning, "there is no closing `---`; its place was guessed, from text on its line, `...`, or a heading with text below it. Where there is none of these the file is refused", "write `---` below the last field"},
	{codeFrontmatterUnopened, Warning, "there is no opening `---`", "write `---` above the first field"},
	{codeFrontmatterIndented, Warning, "the file is indented", "remove the indentation"},
	{codeFrontmatterPreceded, Warning, "something stands before the frontmatter", "let the file begin with `---`"},
	{codeFrontmatterCodeFence, Warning, "the file is wrapped in a code fence", "remove the fence"},
	{codeFenceLong, Warning, "a fence has more than three dashes", "write three"},
	{codeFenceDoubled, Warning, "the opening fence is there twice", "remove one"},

	{codeFoldersUnread, Information, "folders of other tools, of packages or of the user hold agent files and are not read", "name them in `--agents-from` or `agentsFrom`"},
	{codeFieldUnsupported, Information, "the field has no meaning here; it is kept (`agents`: the agent may call no other)", "nothing; do not rely on it"},
	{codeToolNoCounterpart, Information, "a tool of another program that does not exist here", "nothing"},
	{codeDescriptionEscapes, Information, "literal `\\n`, `\\t` or `\\\"` were taken as what they stand for", "write a block: `description: |`"},
	{codeDescriptionLong, Information, "the description has over 1,024 characters, and each call of a model pays for them", "move detail below the frontmatter"},
	{codeNameNotSlug, Information, "the name is not of the form `lower-case-words`", "nothing; such names work"},
	{codeNameDiffers, Information, "the name is not the file's", "nothing; the name counts"},
	{codeBodyEmpty, Information, "there is no text below the frontmatter", "say how the agent should work"},
	{codeBodyFromField, Information, "a field is used as the prompt", "write it below the frontmatter"},
	{codeAgentShadows, Information, "the agent replaces one of a folder before it, or is refused and takes the other one of its name away", "correct the file, or give it another name"},
	{codeAgentDisabled, Information, "the file switches its agent off", "remove `disable` to use it"},
}

// severities holds the severity of each code.
var severities = func() map[string]Severity {
	m := make(map[string]Severity, len(codes))
	for _, c := range codes {
		m[c.ID] = c.Severity
	}
	return m
}()

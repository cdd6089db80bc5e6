package diag

import "slices"

// Severity says what a diagnostic means for the agent it speaks of.
type Severity string

// The severities.
const (
	Error       Severity = "error"       // the file is not served, or served without any tool
	Warning     Severity = "warning"     // served; something was repaired, ignored or is likely wrong
	Information Severity = "information" // served; worth knowing
)

// The codes of diagnostics. They are stable: people filter by them.
const (
	FileUnreadable      = "file-unreadable"
	DescriptionMissing  = "description-missing"
	NameDuplicate       = "name-duplicate"
	NameInvalid         = "name-invalid"
	ToolsNoneRecognized = "tools-none-recognized"
	MergeConflict       = "merge-conflict"
	PermissionInvalid   = "permission-invalid"
	OutputInvalid       = "output-invalid"
	BudgetInvalid       = "budget-invalid"
	ChecksInvalid       = "checks-invalid"
	FolderTooLarge      = "folder-too-large"

	YAMLInvalid          = "yaml-invalid"
	FieldRepaired        = "field-repaired"
	FieldUnparsed        = "field-unparsed"
	FieldDuplicate       = "field-duplicate"
	FieldType            = "field-type"
	FieldRange           = "field-range"
	FieldMisspelled      = "field-misspelled"
	FieldUnknown         = "field-unknown"
	FieldDeprecated      = "field-deprecated"
	ToolUnknown          = "tool-unknown"
	PermissionWidening   = "permission-widening-ignored"
	RestrictionIgnored   = "restriction-ignored"
	PatternLiteral       = "pattern-literal"
	PermissionShadowed   = "permission-shadowed"
	ModelUnknown         = "model-unknown"
	ServerMissing        = "server-missing"
	ServerInvalid        = "server-invalid"
	SkillUnknown         = "skill-unknown"
	DirectoryShadowed    = "directory-shadowed"
	SubfolderUnread      = "subfolder-unread"
	AgentShadowsBuiltin  = "agent-shadows-builtin"
	AliasTaken           = "alias-taken"
	NameCase             = "name-case"
	AgentStale           = "agent-stale"
	WatchPolling         = "watch-polling"
	InstructionsLong     = "instructions-long"
	InstructionsUnread   = "instructions-unread"
	ImportUnread         = "import-unread"
	BodyFenceUnclosed    = "body-fence-unclosed"
	EncodingBOM          = "encoding-bom"
	EncodingUTF16        = "encoding-utf16"
	EncodingInvalid      = "encoding-invalid"
	EncodingNUL          = "encoding-nul"
	FrontmatterMissing   = "frontmatter-missing"
	FrontmatterUnclosed  = "frontmatter-unclosed"
	FrontmatterUnopened  = "frontmatter-unopened"
	FrontmatterIndented  = "frontmatter-indented"
	FrontmatterPreceded  = "frontmatter-preceded"
	FrontmatterCodeFence = "frontmatter-in-code-fence"
	FenceLong            = "frontmatter-fence-long"
	FenceDoubled         = "frontmatter-fence-doubled"

	FoldersUnread      = "folders-unread"
	FieldUnsupported   = "field-unsupported"
	ToolNoCounterpart  = "tool-no-counterpart"
	DescriptionEscapes = "description-escapes"
	DescriptionLong    = "description-long"
	NameNotSlug        = "name-not-slug"
	NameDiffers        = "name-differs-from-file"
	BodyEmpty          = "body-empty"
	BodyFromField      = "body-from-field"
	AgentShadows       = "agent-shadows"
	AgentDisabled      = "agent-disabled"
	SkillShadowed      = "skill-shadowed"
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
	{FileUnreadable, Error, "the file or folder cannot be read, is not a regular file, has over 1 MiB, or its frontmatter over 128 KiB", "make it a readable text file, or move text below the frontmatter"},
	{DescriptionMissing, Error, "there is no description, or it is empty", "add `description:`"},
	{NameDuplicate, Error, "a file before it in the folder has the same name", "give one of them another name"},
	{NameInvalid, Error, "the name holds characters that control or cannot be seen, or has over 200", "write a short name in one line"},
	{ToolsNoneRecognized, Error, "none of the names in `tools` is a tool here; the file is served, and the list allows nothing", "name at least one tool"},
	{MergeConflict, Error, "the file has the markers of a merge that is not finished; it is refused", "finish the merge"},
	{PermissionInvalid, Error, "what decides about permission, or about who may call the agent, cannot be read exactly; the file is refused", "see the message, and \"What is refused\" in docs/reference/agent-files.md"},
	{BudgetInvalid, Error, "`budget` cannot be read; the file is refused", "correct it, or remove it"},
	{OutputInvalid, Error, "`output` is not a JSON Schema that can be checked; the file is refused", "correct it, or remove it"},
	{ChecksInvalid, Error, "`checks` cannot be read; the file is refused", "write a list of commands and of mappings with `path`, or remove it"},
	{FolderTooLarge, Error, "the folder has more than 5,000 folders or 20,000 agent files below it; the rest is not read", "name a smaller folder, or remove a symlink that leads elsewhere"},

	{YAMLInvalid, Warning, "the frontmatter is not valid YAML and was read field by field", "quote the text, or write `description: |` and indent it"},
	{FieldRepaired, Warning, "the text or list of one field was taken as it stands", "the same; `tools` as a YAML list"},
	{FieldUnparsed, Warning, "the field cannot be read, or uses an alias; it is ignored", "write it as valid YAML"},
	{FieldDuplicate, Warning, "the field is there twice; the last one counts. Where it restricts and the two differ, the agent is refused (`permission-invalid`)", "remove one"},
	{FieldType, Warning, "the value has the wrong type; it is ignored. An empty `tools` is a list of none; `disable` and `disable-model-invocation` count as true, `inspectable` as false", "write a value of the type in the table of fields"},
	{FieldRange, Warning, "the number is out of range; it is ignored, or the largest is used for whole numbers above it", "write one within the range"},
	{FieldMisspelled, Warning, "the name is taken for that of a known field", "write it as the message says"},
	{FieldUnknown, Warning, "the field is not known, and its name is close to that of one which is; it is kept, without effect", "write the name that the message says, if it is meant"},
	{FieldDeprecated, Warning, "the field is still read in an older form", "write it as the message says"},
	{ToolUnknown, Warning, "a name is not a tool here, or says more than can be kept to; in a mapping: a name that no built-in tool has, and under `permission` only if it is close to one", "use the name of a tool, or write the rule under `permission`"},
	{PermissionWidening, Warning, "`permissionMode`, `approvalMode` or `sandbox_mode` would let the agent do more; it is ignored", "remove it; the user's rules decide"},
	{RestrictionIgnored, Warning, "the field would restrict the agent in the tool that it comes from, and has no or not its full effect here", "say it under `permission`, or do not rely on it"},
	{PatternLiteral, Warning, "a pattern that denies is not a valid glob; it denies what it says as a plain text", "put a backslash before characters that mean themselves"},
	{PermissionShadowed, Warning, "a rule never counts: one that comes later matches all that it does, and says something else", "write the wider rule first and the narrower one after it, or remove the rule"},
	{ModelUnknown, Warning, "none of the models is known, or none has the key here that it needs; the caller's is used", "name a configured model, or `inherit`"},
	{ServerMissing, Warning, "the file needs an MCP server that does not run here, or its tools need a language server, and none is here; only `worker agents lint` without a path reports it", "see the message: configure the server, or trust it"},
	{ServerInvalid, Warning, "a file of the repository names a [language server](../guide/code.md) that can't be read; reported in the same way", "see the message"},
	{SkillUnknown, Warning, "`skills` names a skill that is not here, or that no model may load; the agent runs without it", "add the folder with its SKILL.md, or remove the name"},
	{DirectoryShadowed, Warning, "the folder is not read, because one before it exists, or the policy does not have it", "move its files there, or remove the other folder"},
	{SubfolderUnread, Warning, "a subfolder of `.agents/agents` holds agent files; subfolders of it are not read", "move the files up"},
	{AgentShadowsBuiltin, Warning, "the agent replaces a built-in one", "nothing if it is meant; else another name"},
	{AliasTaken, Warning, "the alias is the name or an alias of another agent, which keeps it, also while its file is not served", "choose another alias, or remove it"},
	{NameCase, Warning, "two agents have names that differ in case, or in how Unicode writes a letter, alone", "rename one of them"},
	{AgentStale, Warning, "the file cannot be served now; the version before stays in force", "correct the file, or remove it to stop the agent"},
	{WatchPolling, Warning, "the system does not tell of changes in the folder, so it is looked at every 2 seconds", "see the message: raise a limit, or use a local disk"},
	{InstructionsLong, Warning, "what the workspace says to all agents has more than 32 KiB: they are given its beginning; only `worker agents lint` without a path reports it", "shorten the files, or move text to files that agents read when they need it"},
	{InstructionsUnread, Warning, "a file of instructions is not given to agents; reported in the same way", "see the message"},
	{ImportUnread, Warning, "a file of instructions imports one that is not given to agents; reported in the same way", "correct the path, or put it between backticks"},
	{BodyFenceUnclosed, Warning, "a code fence in the text below the frontmatter is never closed, so the rest is code", "close it"},
	{EncodingBOM, Warning, "the file begins with a byte order mark", "save it as UTF-8 without one"},
	{EncodingUTF16, Warning, "the file is UTF-16", "save it as UTF-8"},
	{EncodingInvalid, Warning, "bytes that are no UTF-8 were replaced", "save it as UTF-8"},
	{EncodingNUL, Warning, "NUL characters were replaced", "remove them"},
	{FrontmatterMissing, Warning, "the file has no frontmatter and is not an agent", "add it, or move the file out of the folder"},
	{FrontmatterUnclosed, Warning, "there is no closing `---`; its place was guessed, from text on its line, `...`, or a heading with text below it. Otherwise the file is refused", "write `---` below the last field"},
	{FrontmatterUnopened, Warning, "there is no opening `---`", "write `---` above the first field"},
	{FrontmatterIndented, Warning, "the file is indented", "remove the indentation"},
	{FrontmatterPreceded, Warning, "something stands before the frontmatter", "let the file begin with `---`"},
	{FrontmatterCodeFence, Warning, "the file is wrapped in a code fence", "remove the fence"},
	{FenceLong, Warning, "a fence has more than three dashes", "write three"},
	{FenceDoubled, Warning, "the opening fence is there twice", "remove one"},

	{FoldersUnread, Information, "folders of other tools, of packages or of the user hold agent files and are not read", "name them in `--agents-from` or `agentsFrom`"},
	{FieldUnsupported, Information, "the field has no meaning here; it is kept (`agents`: the agent may call no other)", "nothing; do not rely on it"},
	{ToolNoCounterpart, Information, "a tool of another program that does not exist here", "nothing"},
	{DescriptionEscapes, Information, "literal `\\n`, `\\t` or `\\\"` were read as escapes", "write a block: `description: |`"},
	{DescriptionLong, Information, "the description has over 1,024 characters, and each call of a model pays for them", "move detail below the frontmatter"},
	{NameNotSlug, Information, "the name is not of the form `lower-case-words`", "nothing; such names work"},
	{NameDiffers, Information, "the name is not the file's", "nothing; the name counts"},
	{BodyEmpty, Information, "there is no text below the frontmatter", "say how the agent should work"},
	{BodyFromField, Information, "a field is used as the prompt", "write it below the frontmatter"},
	{AgentShadows, Information, "the agent replaces one of a folder before it, or is refused and takes the other one of its name away", "correct the file, or give it another name"},
	{AgentDisabled, Information, "the file switches its agent off", "remove `disable` to use it"},
	{SkillShadowed, Information, "a skill of a folder before it has the same name", "rename one of them, or remove it"},
}

// severities holds the severity of each code.
var severities = func() map[string]Severity {
	m := make(map[string]Severity, len(codes))
	for _, c := range codes {
		m[c.ID] = c.Severity
	}
	return m
}()

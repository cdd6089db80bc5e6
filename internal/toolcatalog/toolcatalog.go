// Package toolcatalog is the table of the tools that agents may have: one row
// has all that other packages need to know of a tool without running it.
//
// To add a tool, write its row here and its file in package tool. Tests there
// and in this package name what is missing. The tools that manage running
// subagents, such as task_wait, have their rows in taskt/control.
package toolcatalog

import (
	"slices"
	"strings"
)

// The names of the tools that code outside of their own packages asks about.
const (
	ReadFile    = "read_file"
	WriteFile   = "write_file"
	EditFile    = "edit_file"
	ApplyPatch  = "apply_patch"
	ShellExec   = "shell_exec"
	ShellOutput = "shell_output"
	ShellInput  = "shell_input"
	ShellStop   = "shell_stop"
	Grep        = "grep"
	Glob        = "glob"
	ListDir     = "list_dir"
	WebFetch    = "web_fetch"
	WebSearch   = "web_search"
	Task        = "task"
	Todo        = "todo"
	Plan        = "plan"
	PlanExit    = "plan_exit"
	Remember    = "remember"
	AskUser     = "ask_user"
	Skill       = "skill"
	ToolSearch  = "tool_search"
	ToolOutput  = "tool_output"
	Diagnostics = "diagnostics"
	Definition  = "definition"
	References  = "references"
	Symbols     = "symbols"
)

// Kind says what a call does, in the words of the Agent Client Protocol.
type Kind string

// The kinds. They are values of ToolKind in the protocol's schema.
const (
	KindRead       Kind = "read"
	KindSearch     Kind = "search"
	KindEdit       Kind = "edit"
	KindExecute    Kind = "execute"
	KindThink      Kind = "think"
	KindFetch      Kind = "fetch"
	KindSwitchMode Kind = "switch_mode"
	KindOther      Kind = "other"
)

// Files says what a tool does with the files that a call names.
type Files int

// The uses of files.
const (
	NoFiles     Files = iota // a call names no single file
	ReadsFiles               // the rules of reading hold
	WritesFiles              // the rules of writing hold
)

// Tool is what is known of a tool.
type Tool struct {
	Name string

	// Group is the word by which lists sum up tools that often go together, such
	// as "search". Empty means that lists leave the tool out.
	Group string

	Kind     Kind
	Files    Files
	Argument string // the argument that rules match and people see first; empty means none does

	// Elsewhere are the names that other programs give to a tool that does the
	// same, in small letters, separated by blanks. Names that mean several tools
	// or only some files are in agentdefs/internal/dialect.
	Elsewhere string

	Hooked Hooked // how hooks of other programs see its calls

	// Default is the action of the default rules, permission/defaults.jsonc, where no
	// pattern there says otherwise. Empty means that they don't name the tool.
	Default string

	// Own says that the tool is about the agent's own session: rules don't name it
	// before an agent file does.
	Own bool

	// RuledByWriters says that the rules of the tools in [Writers] hold for calls: the tool has none of
	// its own, and its name in an agent file means those.
	RuledByWriters bool

	// With names another tool whose rules hold for this one, and with which it comes: rules
	// don't name it by itself. Empty means none.
	With string

	// Alone says that a tool of With can be denied by its own name. The other one stays then.
	Alone bool

	// Reserved says that rules may name the tool, which is there only where a setting offers it,
	// or not yet.
	Reserved bool
}

// All has a row for each tool, in the order in which lists show groups.
var All = []Tool{
	{Name: ReadFile, Group: "read", Kind: KindRead, Files: ReadsFiles, Argument: "path", Default: "allow",
		Elsewhere: "read readfile readfiletool read_many_files readmanyfiles readmanyfilestool view_file",
		Hooked:    Hooked{"Read", "view", "@path=file_path=path offset limit"}},
	{Name: Grep, Group: "search", Kind: KindSearch, Argument: "path", Default: "allow",
		Elsewhere: "greptool grep_search search_file_content codesearch textsearch search_files",
		Hooked:    Hooked{"Grep", "grep", "pattern @path include=glob ignoreCase=-i context=-C limit=head_limit"}},
	{Name: Glob, Group: "search", Kind: KindSearch, Argument: "path", Default: "allow",
		Elsewhere: "globtool filesearch file_search find_by_name glob_file_search",
		Hooked:    Hooked{"Glob", "glob", "pattern @path"}},
	{Name: ListDir, Group: "search", Kind: KindRead, Argument: "path", Default: "allow",
		Elsewhere: "ls lstool list list_directory list_files listdirectory",
		Hooked:    Hooked{"LS", "view", "@path"}},
	{Name: Diagnostics, Kind: KindRead, Argument: "path", Own: true, With: ReadFile, Alone: true, Elsewhere: "problems read_lints get_errors get_diagnostics"},
	{Name: Definition, Kind: KindSearch, Argument: "path", Own: true, With: ReadFile, Alone: true},
	{Name: References, Kind: KindSearch, Argument: "path", Own: true, With: ReadFile, Alone: true},
	{Name: Symbols, Kind: KindSearch, Argument: "path", Own: true, With: ReadFile, Alone: true, Elsewhere: "list_code_definition_names"},
	{Name: WriteFile, Group: "write", Kind: KindEdit, Files: WritesFiles, Argument: "path", Default: "allow",
		Elsewhere: "write writefile writefiletool create create_file createfile write_to_file",
		Hooked:    Hooked{"Write", "create", "@path=file_path=path content=content=file_text"}},
	{Name: EditFile, Group: "edit", Kind: KindEdit, Files: WritesFiles, Argument: "path", Default: "allow",
		Elsewhere: "edit edittool multiedit replace replace_string_in_file search_replace replace_file_content multi_replace_file_content replace_in_file apply_diff insert_content search_and_replace strreplace",
		Hooked:    Hooked{"Edit MultiEdit", "edit", "@path=file_path=path oldText=old_string=old_str newText=new_string=new_str replaceAll=replace_all"}},
	{Name: ApplyPatch, Kind: KindEdit, Argument: "input", RuledByWriters: true,
		Elsewhere: "patch applypatch",
		Hooked:    Hooked{"apply_patch Write Edit MultiEdit", "apply_patch", "input=command=command"}},
	{Name: ShellExec, Group: "shell", Kind: KindExecute, Argument: "command", Default: "ask",
		Elsewhere: "bash powershell shell shelltool execute execute_bash run_shell_command runcommands runinterminal run_in_terminal run_command run_terminal_cmd execute_command shell_command exec_command local_shell createandruntask",
		Hooked:    Hooked{"Bash", "bash", "command *timeoutSeconds=timeout description background=run_in_background"}},
	{Name: ShellOutput, Kind: KindRead, Argument: "id", Own: true, With: ShellExec,
		Elsewhere: "bashoutput exec_shell_wait monitor getterminaloutput get_terminal_output terminallastcommand terminal_last_command awaitterminal command_status",
		Hooked:    Hooked{"BashOutput", "read_bash", "id=bash_id=shellId until=filter"}},
	{Name: ShellInput, Kind: KindExecute, Argument: "text", Own: true, With: ShellExec,
		Elsewhere: "exec_shell_interact write_stdin",
		Hooked:    Hooked{"Bash", "write_bash", "id=id=shellId text=command=input"}},
	{Name: ShellStop, Kind: KindExecute, Argument: "id", Own: true, With: ShellExec,
		Elsewhere: "killshell killbash killterminal kill_terminal",
		Hooked:    Hooked{"KillShell KillBash", "stop_bash", "id=shell_id=shellId"}},
	{Name: WebFetch, Group: "web", Kind: KindFetch, Argument: "url",
		Elsewhere: "fetch fetchurl webfetch webfetchtool fetch_webpage read_url_content",
		Hooked:    Hooked{"WebFetch", "web_fetch", "url prompt"}},
	{Name: WebSearch, Group: "web", Kind: KindFetch, Argument: "query", Reserved: true,
		Elsewhere: "websearch websearchtool google_web_search search_web",
		Hooked:    Hooked{"WebSearch", "web_search", "query domains=allowed_domains"}},
	{Name: Task, Group: "task", Kind: KindThink, Argument: "agentType", Default: "allow",
		Elsewhere: "agent custom-agent runsubagent use_subagent new_task spawn_agent",
		Hooked:    Hooked{"Task Agent", "task", "description prompt agentType=subagent_type=agent_type model background=run_in_background"}},
	{Name: Skill, Group: "skills", Kind: KindRead, Argument: "name", Default: "allow", Elsewhere: "activate_skill",
		Hooked: Hooked{"Skill", "skill", "name=skill"}},
	{Name: Todo, Kind: KindOther, Own: true,
		Elsewhere: "todowrite todoread todo_write todo_read todos todo_list write_todos checklist_write taskcreate taskupdate tasklist taskget update_todo_list manage_todo_list",
		Hooked:    Hooked{"TodoWrite", "update_todo", ""}},
	{Name: Plan, Kind: KindOther, Own: true, Elsewhere: "update_plan"},
	{Name: Remember, Kind: KindEdit, Own: true},
	{Name: AskUser, Kind: KindOther, Own: true,
		Elsewhere: "askuserquestion request_user_input vscode_askquestions askquestions question ask_followup_question",
		Hooked:    Hooked{"AskUserQuestion", "ask_user", ""}},
	{Name: ToolSearch, Kind: KindSearch, Argument: "query", Own: true, Elsewhere: "toolsearch",
		Hooked: Hooked{"ToolSearch", "tool_search", "query"}},
	{Name: ToolOutput, Kind: KindRead, Argument: "id", Own: true},
	{Name: PlanExit, Kind: KindSwitchMode, Own: true,
		Hooked: Hooked{"ExitPlanMode", "exit_plan_mode", ""}},
}

// Find returns the row of a tool. Of a name without a row, such as a tool of an
// MCP server, it returns a row with the name and [KindOther], and false.
func Find(name string) (Tool, bool) {
	for _, t := range All {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{Name: name, Kind: KindOther}, false
}

// Elsewhere returns the row of the tool that other programs call by a name, in any letters.
func Elsewhere(name string) (Tool, bool) {
	i := slices.IndexFunc(All, func(t Tool) bool { return slices.Contains(t.OtherNames(), strings.ToLower(name)) })
	if i < 0 {
		return Tool{}, false
	}
	return All[i], true
}

// Names returns the names of the tools for which keep reports true, in the order
// of the table.
func Names(keep func(Tool) bool) []string {
	var names []string
	for _, t := range All {
		if keep(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

// These lists of names are read only.
var (
	Rules     = Names(func(t Tool) bool { return !t.Own && !t.RuledByWriters }) // the tools that agent files name in rules
	Own       = Names(func(t Tool) bool { return t.Own && !t.Reserved })        // the tools about the agent's own session
	FileTools = Names(func(t Tool) bool { return t.Files != NoFiles })          // the tools that rules about files hold for
	Writers   = Names(func(t Tool) bool { return t.Files == WritesFiles })      // the tools that change files
)

// Groups returns the words of all groups in order, each with its tools.
func Groups() []Group {
	var groups []Group
	for _, t := range All {
		if t.Group == "" {
			continue
		}
		if n := len(groups); n > 0 && groups[n-1].Word == t.Group {
			groups[n-1].Tools = append(groups[n-1].Tools, t.Name)
			continue
		}
		groups = append(groups, Group{t.Group, []string{t.Name}})
	}
	return groups
}

// Group is a word for tools that often go together.
type Group struct {
	Word  string
	Tools []string
}

// IsWriter reports whether the tool changes the file that a call names.
func IsWriter(name string) bool { return slices.Contains(Writers, name) }

// OtherNames returns the names of [Tool.Elsewhere].
func (t Tool) OtherNames() []string { return strings.Fields(t.Elsewhere) }

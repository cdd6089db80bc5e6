package termtext

// The bounds of texts that people are shown, in characters. A text that is longer is cut.
const (
	MaxColumn   = 40     // a name in a narrow column, or in a sentence with others
	MaxName     = 60     // an agent or a tool within a line, which also has something else
	MaxServer   = 64     // the name of an MCP server
	MaxHint     = 80     // a few words after a name
	MaxTitle    = 100    // a name by itself, such as that of a session in an editor's list
	MaxMessage  = 120    // a progress message: MCP hosts give it one line
	MaxCall     = 160    // a call in a row of the page, beside other columns
	MaxLabel    = 200    // a task, a call or its outcome in a line of a list
	MaxCause    = 300    // an error or a pause in a row of the page, which shows it in full below
	MaxReason   = 400    // why a call waits, in a form of a host or an editor
	MaxLine     = 500    // any other text in one line
	MaxReport   = 1000   // a line about what a command has done, with paths
	MaxText     = 2000   // an error, a warning or a reason that a person reads by itself
	MaxForm     = 2000   // one text of a call, in a form of an MCP host: most show a small box
	MaxQuestion = 4000   // one text of a call about which a terminal or an editor asks
	MaxCard     = 32_000 // the same on the page, which scrolls, and a command line on a terminal, which wraps
)

// Package permission decides whether a tool call may run.
//
// It is pure: rules and values in, a [Decision] out. It knows nothing of
// sessions, agents or models. A [Ruleset] is an ordered list of rules of which
// the last match wins; [Layers] puts the agent's, the static and the runtime
// rulesets together, with the agent layer's veto; a [Value] is one thing that
// a call wants to do. [Workspace] finds the values of paths and of command
// lines, and [File] is the permissions.jsonc that people edit.
//
// # Rules
//
// The compact format, in YAML or in JSON with comments:
//
//	rules   = { tool ":" ( action | { pattern ":" action } ) }
//	tool    = glob        of the tool's name
//	pattern = glob        of a value; an action alone is that of "*"
//	action  = "allow" | "ask" | "deny"
//
// Order counts: of the rules that match, the last decides, and where none
// does, a person is asked. In JSON a list of pairs may stand for each object:
// [["shell_exec", [["*", "ask"], ["git *", "allow"]]]].
//
//	read_file:
//	  "*": allow
//	  "*.env": deny
//	shell_exec:
//	  "*": ask
//	  "git *": allow
//	  "git push *": deny
//
// A pattern that begins with "/" is matched against a file's absolute path;
// "~/" and "$HOME/" in front stand for the home folder. All others see the
// path relative to the workspace. Text is compared in Unicode's form NFC.
//
// # Globs
//
// Globs mean what they mean to picomatch 4 with the options dot and bash, but
// for what is said below. The whole value has to match.
//
//   - **        any text, "/" and line ends included
//     ?            one character, but not "/" (one UTF-16 unit, to be exact)
//     [abc] [a-z]  one of the characters; without "-" or other marks inside,
//     also the text "[abc]" itself, as in the name of a folder
//     [^abc]       one character that is none of them, nor "/"; so is [!abc]
//     [[:alpha:]]  one of a class: alnum alpha ascii blank cntrl digit graph
//     lower print punct space upper word xdigit
//     {a,b*}       one of the alternatives; braces without a comma are text
//     {1..3}       a digit, or a letter, of the range
//     @(a|b) (a|b) one of the alternatives
//     ?(a|b)       one of them, or nothing
//     *(a) +(a)    any number of them; at least one
//     !(a|b)       what is none of them; only after plain text
//     **/x  a/**/b also match without a folder between; a/** also matches a
//     !x           in front of all: what x does not match
//     \*           the character itself; so are characters in "double quotes"
//     ./x          is x, and also matches the program ./x
//
// A last "/" of the value is optional after *.ext and […] at the end. The
// empty value matches nothing; a value equal to the pattern always matches.
//
// It differs from picomatch where a rule could be evaded by a quirk: "*"
// matches line ends and the segments "." and ".."; [!abc] negates; "|" outside
// of groups is text. What would be a regular expression in picomatch (\d, a
// quantifier after a group, lookarounds), what has no certain meaning
// (brackets that do not close, {10..20}) and !(…) anywhere else is refused
// when the rules are read, with the reason: see [PatternError].
//
// Most patterns compile to comparisons of text, the rest to Go's regular
// expressions; all take time linear in the length of the value.
package permission

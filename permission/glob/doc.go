// Package glob is the pattern language of permission rules.
//
// A pattern means what it means to picomatch 4 with the options dot and bash,
// except as listed below. The whole text has to match.
//
//   - **        any text, including "/" and line ends
//     ?            one character except "/" (strictly, one UTF-16 unit)
//     [abc] [a-z]  one of the characters; a class without "-" or other marks
//     also matches the text "[abc]" itself, as in the name of a folder
//     [^abc]       one character that is not listed and not "/"; same as [!abc]
//     [[:alpha:]]  one of a class: alnum alpha ascii blank cntrl digit graph
//     lower print punct space upper word xdigit
//     {a,b*}       one of the alternatives; braces without a comma are text
//     {1..3}       a digit, or a letter, of the range
//     @(a|b) (a|b) one of the alternatives
//     ?(a|b)       one of them, or nothing
//     *(a) +(a)    any number of them; at least one
//     !(a|b)       at the end, text that is none of them; before more, text
//     without "/" that begins with none of them
//     **/x  a/**/b also match without a folder in between; a/** also matches a
//     !x           in front of the whole pattern: whatever x does not match
//     \*           the character itself; so are characters in "double quotes"
//     ./x          the same as x
//
// After *.ext and after […] at the end of a pattern, a "/" at the end of the
// text is optional. The empty text matches nothing. A text equal to the pattern
// always matches.
//
// The dialect differs from picomatch where a quirk would let a text slip past a
// rule: "*" matches line ends and the segments "." and ".."; [!abc] negates;
// "|" outside a group is text. [Compile] refuses parts of regular expressions
// (\d, a quantifier after a group, lookarounds) and what has no certain meaning
// (brackets that do not close, {10..20}). It also refuses a !(…) inside another
// or inside a group that repeats. The [*Error] gives the reason.
//
// # How a pattern is matched
//
// A pattern of literals and stars, or a few alternatives of those, becomes
// comparisons of text and patterns of gobwas/glob, which is fast there. All
// others go to the package's own search: gobwas has no classes in groups, no
// extglobs and no negation, and is exponential on nested braces; Go's regexp
// cannot exclude what begins at a place that is not certain.
//
// No pattern takes exponential time or memory. All but groups that repeat
// are linear in the length of the text.
package glob

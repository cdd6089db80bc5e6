// Package skilltool gives agents the skills of the workspace and of the user: the catalogue in
// their system prompts, the texts of those that an agent's file preloads, and the tool by
// which a model loads another one.
//
// A skill is a stranger's text. It stands in a frame that it can't end, and it gives no rights:
// what it asks for goes through the gate as any other call.
package skilltool

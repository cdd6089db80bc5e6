package openaimodel

import "slices"

// noteIntro introduces a note to the model within a tool's result.
const noteIntro = "\n\n[This is not from the tool. It is the next message to you:]\n"

// bridge is the model's turn between the results of tools and a new message of the user, such
// as a prompt after a stop. LiteLLM puts one there as well (assistant_continue_message).
const bridge = "I have read the results."

// inOrder returns messages in the strict order of roles. Texts of the same role in a row are one
// message. A note that came with tools' results is added to the last of them. Before any
// other message of the user, and before images, the model has a turn.
func inOrder(messages []message) []message {
	var all []message
	for _, next := range messages {
		if len(all) == 0 || next.Content.text == nil || len(next.ToolCalls) > 0 {
			all = append(all, next)
			continue
		}
		last := &all[len(all)-1]
		between := ""
		switch {
		case next.Role == "user" && last.Role == "tool" && next.beside && len(next.Content.images) == 0:
			between = noteIntro
		case next.Role == "user" && last.Role == "tool":
			text := bridge
			all = append(all, message{Role: "assistant", Content: contents{text: &text}})
		case next.Role == last.Role && next.Role != "tool" && last.Content.text != nil && len(last.ToolCalls) == 0:
			between = "\n\n"
		}
		if between == "" {
			all = append(all, next)
			continue
		}
		joined := *last.Content.text + between + *next.Content.text
		last.Content = contents{&joined, slices.Concat(last.Content.images, next.Content.images)}
	}
	return all
}

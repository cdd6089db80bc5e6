package responsesmodel

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentworker/worker/model"
)

// sealed is the order of an answer's items, and the reasoning among them as it came. It is kept as
// the signature of a block of reasoning.
type sealed struct {
	Host  string       `json:"host"` // of the server; no other can read it
	Items []sealedItem `json:"items"`
}

// sealedItem is one of reasoning, text and a call.
type sealedItem struct {
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	Text      int             `json:"text,omitempty"`  // its length
	Phase     string          `json:"phase,omitempty"` // of a text; OpenAI wants it back
	Call      bool            `json:"call,omitempty"`
}

// mark begins the signatures of this adapter.
const mark = `{"responses":`

// signature returns the signature of an answer; empty means that nothing is wanted back.
func (s *sealed) signature() string {
	wanted := false
	for _, item := range s.Items {
		wanted = wanted || item.Reasoning != nil || item.Phase != ""
	}
	if !wanted {
		return ""
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return ""
	}
	return mark + strings.TrimSpace(out.String()) + "}"
}

// length returns the length of the text of all items.
func (s *sealed) length() (n int) {
	for _, item := range s.Items {
		n += max(0, item.Text)
	}
	return n
}

// sealedIn returns what this server has sealed in a message; the zero value means nothing.
func (m *Model) sealedIn(msg model.Message) sealed {
	for _, r := range msg.Reasoning {
		inner, ok := strings.CutPrefix(r.Signature, mark)
		if !ok {
			continue
		}
		var s sealed
		if json.Unmarshal([]byte(strings.TrimSuffix(inner, "}")), &s) == nil && s.Host == m.host {
			return s
		}
	}
	return sealed{}
}

// back returns reasoning as it goes back; nil means it can't. Encrypted reasoning has no id: the
// server would look for what it has not stored. Fields keep their order and their bytes.
func (m *Model) back(raw json.RawMessage) json.RawMessage {
	var item struct {
		Encrypted string            `json:"encrypted_content"`
		Summary   []json.RawMessage `json:"summary"`
		Content   []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &item) != nil {
		return nil
	}
	if item.Encrypted == "" {
		if m.server.Known.OpenAI || len(item.Summary)+len(item.Content) == 0 {
			return nil
		}
		return raw // open weights: the server has no store to look in
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil
		}
		field, _ := name.(string)
		if field == "id" || field == "status" || field == "content" && string(value) == "null" {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		quoted, err := json.Marshal(field)
		if err != nil {
			return nil
		}
		out.Write(quoted)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

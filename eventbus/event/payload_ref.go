package event

// PayloadRef refers to content that is too large for one message. The stored message has this
// as "payloadRef", and nothing else of the content.
type PayloadRef struct {
	Bucket  string `json:"bucket"`
	Name    string `json:"name"`
	Size    int    `json:"size"`              // in bytes
	SHA256  string `json:"sha256"`            // in hex
	Missing bool   `json:"missing,omitempty"` // the content is not stored any more; set when the message is read
}

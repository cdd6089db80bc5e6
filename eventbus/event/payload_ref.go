package event

// PayloadRef says where something is that is too large for one message. What
// is stored in place of it has this as "payloadRef", and nothing else of it.
type PayloadRef struct {
	Bucket  string `json:"bucket"`
	Name    string `json:"name"`
	Size    int    `json:"size"`              // in bytes
	SHA256  string `json:"sha256"`            // in hex
	Missing bool   `json:"missing,omitempty"` // it is not there any more; told by readers
}

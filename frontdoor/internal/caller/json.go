package caller

import (
	"bytes"
	"encoding/json"
)

// JSON returns the one-line form of what a door answers. The "<" of a result
// element stays readable.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

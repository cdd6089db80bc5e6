package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// hashLen is how long a hash is, in hexadecimal digits.
const hashLen = 2 * sha256.Size

// noHash is what stands before the first record.
var noHash = strings.Repeat("0", hashLen)

// Head names a record of the chain: the last one that is stored, or one that somebody
// has noted elsewhere.
type Head struct {
	N    uint64 `json:"n"`
	Hash string `json:"hash"`
}

// String returns the head in the form of [ParseHead].
func (h Head) String() string { return strconv.FormatUint(h.N, 10) + ":" + h.Hash }

// ParseHead reads "N:HASH".
func ParseHead(s string) (Head, error) {
	number, hash, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(number, 10, 64)
	if _, bad := hex.DecodeString(hash); err != nil || bad != nil || n == 0 || len(hash) != hashLen || hash != strings.ToLower(hash) {
		return Head{}, fmt.Errorf("%.100q is not the head of an audit log: write N:HASH as 'worker audit verify' prints it", s)
	}
	return Head{n, hash}, nil
}

// The last field of a line.
const (
	beforeHash = `,"hash":"`
	afterHash  = `"}`
	hashField  = len(beforeHash) + hashLen + len(afterHash)
)

// sealer makes messages of lines. The zero value is ready to use, by one goroutine.
type sealer struct {
	message bytes.Buffer
	encoder *json.Encoder // to message
}

// seal adds to the message the line of a record behind head, and returns the head that
// it is. A line is the record's JSON without spaces, in the order of [Record]'s fields,
// and a newline. Its hash is computed from the line without the hash's field.
func (s *sealer) seal(r *Record, head Head) (Head, error) {
	if s.encoder == nil {
		s.encoder = json.NewEncoder(&s.message)
		s.encoder.SetEscapeHTML(false)
	}
	r.N, r.Prev, r.Hash = head.N+1, head.Hash, ""
	if head.N == 0 {
		r.Prev = noHash
	}
	start := s.message.Len()
	if err := s.encoder.Encode(r); err != nil {
		return head, fmt.Errorf("writing an audit record: %w", err)
	}
	end := s.message.Len() - len("\n")
	sum := sha256.Sum256(s.message.Bytes()[start:end])
	var digits [hashLen]byte
	hex.Encode(digits[:], sum[:])
	s.message.Truncate(end - len("}"))
	s.message.WriteString(beforeHash)
	s.message.Write(digits[:])
	s.message.WriteString(afterHash + "\n")
	return Head{r.N, string(digits[:])}, nil
}

// open returns the record of a line without its newline. It returns an error unless the
// line is as seal has made it, to the last byte.
func open(line []byte) (*Record, error) {
	cut := len(line) - hashField
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(beforeHash)) || !bytes.HasSuffix(line, []byte(afterHash)) {
		return nil, fmt.Errorf("is no record of an audit log: %.60q", line)
	}
	body := append(line[:cut:cut], '}')
	sum := sha256.Sum256(body)
	if hex.EncodeToString(sum[:]) != string(line[cut+len(beforeHash):len(line)-len(afterHash)]) {
		return nil, errChanged
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("is no record of an audit log: %w", err)
	}
	return &r, nil
}

var errChanged = fmt.Errorf("was changed: its hash is another one")

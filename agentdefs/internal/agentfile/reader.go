package agentfile

import (
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// Reader reads one file, and reports what is wrong with it.
type Reader struct {
	*diag.Reporter
	Dialect dialect.Dialect
	Fields  *Vocabulary
	Damaged bool // the text holds U+FFFD for bytes that could not be decoded
}

package responsesmodel

import (
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// features are fields of a request that an answer does not depend on.
type features struct {
	encrypted bool // include: reasoning.encrypted_content
	summary   bool // reasoning.summary: what the model thinks, for people
	cacheKey  bool // prompt_cache_key
	effort    bool // reasoning.effort
}

// refusals match what servers say of a feature that they do not take.
var refusals = []struct {
	of    func(*features) *bool
	words *regexp.Regexp
}{
	{func(f *features) *bool { return &f.encrypted }, regexp.MustCompile(`(?i)encrypted content is not supported|reasoning\.encrypted_content|(unsupported|unknown|unrecognized|not permitted).*\binclude\b|\binclude\b.*(unsupported|unknown|unrecognized|not permitted)`)},
	{func(f *features) *bool { return &f.summary }, regexp.MustCompile(`(?i)reasoning\.summary|reasoning summar(y|ies)`)},
	{func(f *features) *bool { return &f.cacheKey }, regexp.MustCompile(`(?i)prompt_cache_key`)},
	{func(f *features) *bool { return &f.effort }, regexp.MustCompile(`(?i)reasoning\.effort|(unsupported|unknown|unrecognized|not permitted|not supported).*\breasoning\b`)},
}

// staleReasoning matches what servers say of reasoning that they can't read: of another account, model or
// key.
var staleReasoning = regexp.MustCompile(`(?i)encrypted.content.*(could not be|not issued|invalid|decrypt|verif)|invalid_encrypted_content|item (with id )?'?rs_\S* .*not found|'rs_[^']*'.*(not found|required following item)`)

// maxStale bounds the hashes that are kept.
const maxStale = 10_000

// wants returns the features of a request for the model.
func (m *Model) wants() features {
	reasons := !m.server.Known.OpenAI || mayReason(m.server.Model)
	m.mu.Lock()
	defer m.mu.Unlock()
	return features{
		encrypted: reasons && !m.refused.encrypted,
		summary:   reasons && m.server.Known.OpenAI && !m.refused.summary,
		cacheKey:  m.server.Known.OpenAI && !m.refused.cacheKey,
		effort:    reasons && !m.refused.effort,
	}
}

// mayReason reports whether a model of OpenAI may be one that reasons: the others refuse to be asked
// to. Azure's customers give their own names.
func mayReason(name string) bool {
	version, _ := openaiwire.Generation(name)
	return (version == 0 || version >= 500) && !strings.Contains(name, "-chat") && !strings.HasPrefix(name, "gpt-4o")
}

// learn reports whether to send a refused request again, without the refused fields.
func (m *Model) learn(sent sent, refused error) bool {
	e, ok := errors.AsType[*model.Error](refused)
	if !ok || e.Kind != model.ErrInvalid {
		return false
	}
	words := e.Code + " " + e.Message
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(sent.reasoning) > 0 && staleReasoning.MatchString(words) {
		if m.stale == nil || len(m.stale) > maxStale {
			m.stale = make(map[[16]byte]struct{})
		}
		for _, hash := range sent.reasoning {
			m.stale[hash] = struct{}{}
		}
		return true
	}
	for _, r := range refusals {
		if had := *r.of(&sent.has); had && r.words.MatchString(words) && !*r.of(&m.refused) {
			*r.of(&m.refused) = true
			return true
		}
	}
	return false
}

// isStale reports whether the server has refused reasoning.
func (m *Model) isStale(hash [16]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, stale := m.stale[hash]
	return stale
}

func hashOf(raw []byte) [16]byte {
	sum := sha256.Sum256(raw)
	return [16]byte(sum[:16])
}

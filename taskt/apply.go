package taskt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
)

// The bounds of what a call says of its session, in bytes.
const (
	maxLabel    = 200
	maxMetadata = 16 << 10
)

// The values of cleanup.
const (
	keep    = "keep"
	cleanUp = "delete"
)

// CheckCleanup reports what is wrong with the cleanup of a call.
func CheckCleanup(value string) error {
	if value != "" && value != keep && value != cleanUp {
		return fmt.Errorf("cleanup %.50q is neither %q nor %q", value, keep, cleanUp)
	}
	return nil
}

// checkTerms reports what is wrong with what a call says of its session.
func (in *Input) checkTerms() error {
	switch {
	case in.TimeoutSeconds < 0 || in.TimeoutSeconds > int(maxChildTime/time.Second):
		return fmt.Errorf("timeoutSeconds %d is not within 1 and %d", in.TimeoutSeconds, int(maxChildTime/time.Second))
	case len(in.Label) > maxLabel:
		return fmt.Errorf("label has %d bytes, more than %d", len(in.Label), maxLabel)
	case len(in.Metadata) > maxMetadata:
		return fmt.Errorf("metadata has %d bytes, more than %d", len(in.Metadata), maxMetadata)
	case len(in.Model) > maxLabel:
		return fmt.Errorf("model has %d bytes, more than %d", len(in.Model), maxLabel)
	case len(in.Effort) > maxLabel:
		return fmt.Errorf("effort has %d bytes, more than %d", len(in.Effort), maxLabel)
	}
	if err := CheckCleanup(in.Cleanup); err != nil {
		return err
	}
	if text := strings.TrimSpace(string(in.Metadata)); text != "" && text != "null" && !strings.HasPrefix(text, "{") {
		return errors.New("metadata is not a JSON object")
	}
	return nil
}

// apply sets in spec what the call says of its session.
func (in *Input) apply(def *agentdefs.Definition, spec *session.Spec) {
	if in.TimeoutSeconds > 0 {
		spec.WholeTime = true
		limit := time.Duration(in.TimeoutSeconds) * time.Second
		if def.Timeout == 0 || limit < def.Timeout {
			spec.TimeLimit = limit
		}
	}
	if in.Model != "" {
		spec.Models = append([]string{in.Model}, spec.Models...)
	}
	if in.Effort != "" {
		found, warnings := effort(in.Effort)
		if found != "" {
			spec.Params.Effort, spec.Warnings = found, nil
		}
		spec.Warnings = append(warnings, spec.Warnings...)
	}
	spec.Label, spec.Traceparent = in.Label, in.Traceparent
	if string(in.Metadata) != "null" {
		spec.Metadata = in.Metadata
	}
}

// models returns the names of models that an agent is to have, the best first. Without
// any it is that of its caller.
func (s *Service) models(def *agentdefs.Definition) []string {
	var names []string
	for _, name := range []string{def.Model, s.agentModels[strings.ToLower(def.Name)]} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// effort returns the first of some efforts that is one, and why those before it are not
// used. Without any it is that of the model.
func effort(words ...string) (found string, warnings []string) {
	for _, word := range words {
		switch {
		case model.IsEffort(word):
			return word, warnings
		case word != "":
			warnings = append(warnings, fmt.Sprintf("the effort %.50q is not used: it is none of %s", word, strings.Join(model.Efforts, ", ")))
		}
	}
	return "", warnings
}

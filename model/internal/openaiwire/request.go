package openaiwire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentworker/worker/model"
)

// Effort returns the API's word for an effort.
func Effort(word string) string {
	switch e := strings.ToLower(strings.TrimSpace(word)); e {
	case "none", "minimal", "low", "medium", "high", "xhigh", "max":
		return e
	default:
		return ""
	}
}

var (
	gptName = regexp.MustCompile(`^gpt-(\d{1,2})(?:\.(\d{1,2}))?(?:-|$)`)
	oName   = regexp.MustCompile(`^o\d(?:-|$)`)
)

// Generation returns the version of a model, 504 for gpt-5.4 and 0 for those of
// other names, and whether it reasons whatever is asked for.
func Generation(name string) (version int, alwaysReasons bool) {
	part := gptName.FindStringSubmatch(name)
	if part == nil {
		return 0, oName.MatchString(name)
	}
	major, _ := strconv.Atoi(part[1]) // digits, or nothing: 0
	minor, _ := strconv.Atoi(part[2])
	version = 100*major + minor
	return version, version == 500
}

// Arguments returns the arguments of a tool call as a JSON object. OpenAI takes
// any text back, but Ollama and the chat templates of vLLM read it and fail the
// whole request if it is none.
func Arguments(text string) string {
	raw := bytes.TrimSpace([]byte(text))
	if bytes.HasPrefix(raw, []byte("{")) && json.Valid(raw) {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"INVALID_JSON": text})
	if err != nil {
		return "{}" // a map of strings has a JSON
	}
	return string(wrapped)
}

// Output returns the text of a tool's result. The APIs have no place to say that it is an error.
func Output(result model.ToolResult) string {
	if result.IsError && !strings.HasPrefix(strings.ToLower(result.Text), "error") {
		return "Error: " + result.Text
	}
	return result.Text
}

// CacheKey returns what requests of one tree of sessions have in common, by which OpenAI finds the
// cache of their beginnings; empty means no session asks. It tells nothing of the session.
func CacheKey(req *model.Request) string {
	if len(req.Path) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte("agentworker prompt cache\x00" + req.Path[0]))
	return hex.EncodeToString(sum[:16])
}

package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// wireFormat is how a provider speaks.
type wireFormat interface {
	// key returns the API key of a request.
	key(http.Header) string
	// parse reads a request, and refuses it as the provider would.
	parse(http.Header, []byte) (*parsed, *refusal)
	// refuse answers with an error status.
	refuse(w http.ResponseWriter, status int, message string)
	// header returns the header of a streamed answer.
	header() http.Header
	// begin, content and end return the events of an answer: the first ones, the ones
	// with content, and the last ones.
	begin(*parsed, *replaymodel.Turn) []byte
	content(*parsed, *replaymodel.Turn) [][]byte
	end(*parsed, *replaymodel.Turn) []byte
	// failure returns the event of an error in the midst of an answer.
	failure(*replaymodel.Failure) []byte
}

// parsed is what a request says.
type parsed struct {
	*model.Request
	model        string
	includeUsage bool // stream_options of Chat Completions
}

// object is a JSON object to be written.
type object map[string]any

// encode returns the JSON of what this package has made.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("modeltest: encoding %v: %v", v, err))
	}
	return data
}

// refuseJSON answers with a status and a JSON body.
func refuseJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that has left gets no error
}

// pieces splits a text as a model streams arguments: a few characters at a time.
func pieces(text string) []string {
	const size = 7
	var all []string
	for runes := []rune(text); len(runes) > 0; {
		n := min(size, len(runes))
		all = append(all, string(runes[:n]))
		runes = runes[n:]
	}
	return all
}

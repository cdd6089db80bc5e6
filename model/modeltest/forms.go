package modeltest

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
)

//go:embed testdata/forms/*.txt
var formFiles embed.FS

// Form is an answer as a server was seen to send it, and what it says.
type Form struct {
	Provider, Name string
	Seen           string // an issue of a repository, or a page of documentation
	Status         int    // 0 means 200
	Type           string // the media type; empty means text/event-stream
	Body           string
	Cut, Hang      bool // the connection breaks behind Body, or stays open

	Want Answer // an id "*" is one that the adapter makes up
	Kind model.ErrorKind
	Says string // a part of the error's message
}

// FormsOf returns the table of an API: chat, messages or responses. The file of that name in
// testdata/forms has a paragraph for each form:
//
//	PROVIDER | NAME
//	seen WHERE
//	data JSON            an event
//	raw "..."            these bytes
//	type MEDIA, status N, cut, hang
//	=> text|reasoning|call|stop|usage|error ...
//
// [formWords] has the short forms of common events.
func FormsOf(t testing.TB, api string) []Form {
	t.Helper()
	data, err := formFiles.ReadFile("testdata/forms/" + api + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []Form
	for paragraph := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		form, err := readForm(api, paragraph)
		if err != nil {
			t.Fatalf("%s.txt: %v in:\n%s", api, err, paragraph)
		}
		all = append(all, form)
	}
	return all
}

func readForm(api, paragraph string) (f Form, err error) {
	lines := strings.Split(paragraph, "\n")
	var ok bool
	if f.Provider, f.Name, ok = strings.Cut(lines[0], " | "); !ok {
		return f, errors.New("no provider")
	}
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "seen":
			f.Seen = rest
		case "type":
			f.Type = rest
		case "status":
			f.Status, err = strconv.Atoi(rest)
		case "cut":
			f.Cut = true
		case "hang":
			f.Hang = true
		case "raw":
			var raw string
			err = json.Unmarshal([]byte(rest), &raw)
			f.Body += raw
		case "=>":
			err = f.want(rest)
		default:
			var events string
			events, err = formEvents(api, word, rest)
			f.Body += events
		}
		if err != nil {
			return f, fmt.Errorf("%s: %w", line, err)
		}
	}
	if f.Want.Stop == "" && f.Kind == "" {
		f.Want.Stop = model.StopEnd
		if len(f.Want.ToolCalls) > 0 {
			f.Want.Stop = model.StopToolCalls
		}
	}
	if f.Seen == "" {
		return f, errors.New("nothing says where it was seen")
	}
	return f, nil
}

// want reads what is right of a form.
func (f *Form) want(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	text := rest
	if strings.HasPrefix(rest, `"`) {
		if err := json.Unmarshal([]byte(rest), &text); err != nil {
			return err
		}
	}
	switch word {
	case "text":
		f.Want.Text = text
	case "reasoning":
		f.Want.Reasoning = text
	case "stop":
		f.Want.Stop = model.StopReason(rest)
	case "call":
		part := strings.SplitN(rest, " ", 3)
		if len(part) < 3 {
			return errors.New("no arguments")
		}
		f.Want.ToolCalls = append(f.Want.ToolCalls, model.ToolCall{ID: part[0], Name: part[1], Arguments: part[2]})
	case "usage":
		u := &f.Want.Usage
		_, err := fmt.Sscan(rest+" 0 0", &u.InputTokens, &u.OutputTokens, &u.CacheReadTokens, &u.CacheWriteTokens)
		return err
	case "error":
		kind, says, _ := strings.Cut(rest, " ")
		f.Kind, f.Says = model.ErrorKind(kind), says
	default:
		return errors.New("unknown word")
	}
	return nil
}

// formWords are the short forms of events by API. What is behind the word replaces $.
var formWords = map[string]map[string][]string{
	"chat": {
		"data":   {`$`},
		"say":    {`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":$},"finish_reason":null}]}`},
		"delta":  {`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":$,"finish_reason":null}]}`},
		"finish": {`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"$"}]}`},
		"usage":  {`{"id":"c1","object":"chat.completion.chunk","choices":[],"usage":$}`},
		"done":   {`[DONE]`},
		"end":    {`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`},
	},
	"messages": {
		"data":   {`$`},
		"start":  {`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"x","stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
		"begin":  {`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"x","stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`},
		"say":    {`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":$}}`},
		"block":  {`{"type":"content_block_start","index":0,"content_block":$}`},
		"delta":  {`{"type":"content_block_delta","index":0,"delta":$}`},
		"stop":   {`{"type":"content_block_stop","index":$}`},
		"finish": {`{"type":"message_delta","delta":{"stop_reason":"$","stop_sequence":null},"usage":{"output_tokens":2}}`},
		"done":   {`{"type":"message_stop"}`},
		"end":    {`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`},
	},
	"responses": {"data": {`$`}, "done": {`[DONE]`}},
}

// formEvents returns the bytes of a short form. An event has its type as its name, where it
// says one.
func formEvents(api, word, rest string) (string, error) {
	events, ok := formWords[api][word]
	if !ok {
		return "", errors.New("unknown word")
	}
	var all strings.Builder
	for _, event := range events {
		data := strings.ReplaceAll(event, "$", rest)
		var named struct{ Type string }
		if json.Unmarshal([]byte(data), &named) == nil && named.Type != "" {
			all.WriteString("event: " + named.Type + "\n")
		}
		all.WriteString("data: " + data + "\n\n")
	}
	return all.String(), nil
}

// Forms holds an adapter to all forms of its API, each in one piece and in small ones.
func Forms(t *testing.T, api string, newModel func(Client) model.Model) {
	for _, form := range FormsOf(t, api) {
		t.Run(form.Provider+"/"+form.Name, func(t *testing.T) {
			t.Parallel() // some connections stay open for a while
			for _, size := range []int{len(form.Body), 5} {
				form.test(t, size, newModel)
			}
		})
	}
}

// test holds an adapter to the form, in pieces of a size.
func (f *Form) test(t *testing.T, size int, newModel func(Client) model.Model) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, size) }))
	defer server.Close()
	m := newModel(Client{URL: server.URL, Key: "sk-secret-0123456789", Retries: new(int)})
	got, err := Collect(m.Stream(t.Context(), Ask("hello")))
	if f.Kind != "" {
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != f.Kind || !strings.Contains(e.Message, f.Says) {
			t.Errorf("in pieces of %d: got %+v and the error %#v, want kind %s with %q; seen at %s", size, got, err, f.Kind, f.Says, f.Seen)
		}
		return
	}
	plain := Answer{Text: got.Text, Reasoning: got.Reasoning, Usage: got.Usage, Stop: got.Stop}
	for i, call := range got.ToolCalls {
		if i < len(f.Want.ToolCalls) && f.Want.ToolCalls[i].ID == "*" && call.ID != "" {
			call.ID = "*"
		}
		plain.ToolCalls = append(plain.ToolCalls, call)
	}
	if err != nil || !reflect.DeepEqual(plain, f.Want) {
		t.Errorf("in pieces of %d, seen at %s:\ngot  %+v, %v\nwant %+v", size, f.Seen, plain, err, f.Want)
	}
}

// serve answers a call with the form, in pieces of a size.
func (f *Form) serve(w http.ResponseWriter, r *http.Request, size int) {
	_, _ = io.Copy(io.Discard, r.Body) // else the connection's end is not seen
	media := f.Type
	if media == "" {
		media = "text/event-stream"
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(max(f.Status, 200))
	for rest := f.Body; rest != ""; rest = rest[min(size, len(rest)):] {
		_, _ = io.WriteString(w, rest[:min(size, len(rest))])
		_ = http.NewResponseController(w).Flush()
	}
	if f.Hang {
		<-r.Context().Done()
	}
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
}

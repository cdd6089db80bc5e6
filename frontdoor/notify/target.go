package notify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/internal/strictjson"
)

// Target is where messages go: one element of the setting "notify". One of HTTP, Command and
// Desktop is set. HTTP, Secret and the values of Headers may name variables of the environment:
// ${SLACK_URL}.
type Target struct {
	On      []string          `json:"on"` // some of [Kinds]
	HTTP    string            `json:"http,omitempty"`
	Form    string            `json:"form,omitempty"`    // of the body; one of [Forms], and "webhook" unless set
	Headers map[string]string `json:"headers,omitempty"` // besides those of the form
	Secret  string            `json:"secret,omitempty"`  // signs bodies of the form "webhook": whsec_ and base64
	Command string            `json:"command,omitempty"` // of a shell. It gets the body of the form "webhook" on stdin
	Desktop bool              `json:"desktop,omitempty"`
	Person  string            `json:"person,omitempty"` // the named token of who gets a link to answer with
	Page    string            `json:"page,omitempty"`   // address of the page in links; empty means the server's own
}

// Parse reads the setting: an array of targets. An error says which one is wrong and why, and
// shows no value that may be a secret.
func Parse(data []byte) ([]Target, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, errors.New("write an array of objects, each with on and one of http, command and desktop")
	}
	targets := make([]Target, len(raw))
	for i, r := range raw {
		err := strictjson.Decode(r, &targets[i])
		if err == nil {
			err = targets[i].check()
		}
		if err != nil {
			return nil, fmt.Errorf("target %d: %w", i+1, err)
		}
	}
	return targets, nil
}

func (t *Target) check() error {
	ways := 0
	for _, set := range []bool{t.HTTP != "", t.Command != "", t.Desktop} {
		if set {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("one of http, command and desktop is needed")
	case len(t.On) == 0:
		return fmt.Errorf("on is missing: some of %s", strings.Join(Kinds(), ", "))
	case t.HTTP == "" && (t.Form != "" || t.Headers != nil || t.Secret != ""):
		return errors.New("form, headers and secret go with http")
	case t.Form != "" && forms[t.Form] == nil:
		return fmt.Errorf("there is no form %.40q: one of %s", t.Form, strings.Join(Forms(), ", "))
	case t.Secret != "" && t.Form != "" && t.Form != webhook:
		return fmt.Errorf("only the form %s is signed", webhook)
	case t.Page != "" && t.Person == "":
		return errors.New("page goes with person: who the link is for")
	case t.Page != "":
		if err := hostport.CheckURL(t.Page); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	for _, kind := range t.On {
		if !slices.Contains(Kinds(), kind) {
			return fmt.Errorf("on: there is no %.40q: some of %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	for name, value := range t.Headers {
		if err := httpheader.Check(name, value); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	if t.HTTP != "" && !strings.Contains(t.HTTP, "${") {
		return checkAddress(t.HTTP)
	}
	return nil
}

// checkAddress returns why no message is sent to an address. It shows none of it: chat servers put
// a key into the path.
func checkAddress(text string) error {
	if hostport.CheckURL(text) != nil {
		return errors.New("http is no https URL, nor an http one of this machine, or has a password in it")
	}
	return nil
}

// key names the target in the notes of how far each has come. What is changed is another target.
func (t *Target) key() string {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(t); err != nil { // strings and a bool have a JSON form
		panic(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:8])
}

// String says where messages go without what may be a secret: chat servers put a key into the path.
func (t *Target) String() string {
	switch u, err := url.Parse(t.HTTP); {
	case t.Command != "":
		return "a command"
	case t.Desktop:
		return "the desktop"
	case err != nil || u.Host == "" || strings.Contains(u.Host, "$"):
		return "an address in a variable"
	default:
		return u.Host
	}
}

// moved returns a link with the address of another page.
func moved(link, page string) (string, error) {
	from, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	to, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	to = to.JoinPath(from.Path)
	to.RawQuery = from.RawQuery
	return to.String(), nil
}

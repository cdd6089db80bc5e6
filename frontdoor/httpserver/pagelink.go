package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/record"
)

// pageLink is the body of a request for a link; without one the link is the caller's own.
type pageLink struct {
	Person     string `json:"person"`     // the named token of who logs in by it
	ApprovalID string `json:"approvalId"` // the question that it leads to
}

// makePageLink answers with a link to the page, or to a question on it.
func (s *Server) makePageLink(w http.ResponseWriter, r *http.Request) error {
	var in pageLink
	if r.ContentLength != 0 {
		body, err := readBody(w, r)
		if err == nil {
			err = caller.Decode(body, &in)
		}
		if err != nil {
			return caller.BadRequest(err)
		}
		if (in.Person == "") != (in.ApprovalID == "") {
			return caller.BadRequest(errors.New("person and approvalId are required together, or neither of them"))
		}
	}
	base := s.URL()
	if r.TLS != nil {
		base = scheme(r) + r.Host // the certificate has it
	}
	by := caller.IdentityOf(r.Context())
	url, expires := "", time.Time{}
	if in.ApprovalID == "" {
		url, expires = s.page.Link(base, by.Name)
	} else {
		var err error
		if url, expires, err = s.makeQuestionLink(r.Context(), base, by, in); err != nil {
			return err
		}
	}
	return answer(w, http.StatusCreated, struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expiresAt"`
	}{url, expires.UTC()})
}

// makeQuestionLink makes the link of a person to a question that waits. The owner makes it for
// anybody with a named token, everybody else for themselves.
func (s *Server) makeQuestionLink(ctx context.Context, base string, by caller.Identity, in pageLink) (url string, expires time.Time, err error) {
	if in.Person != by.Name {
		if err := by.Require(caller.Owner); err != nil {
			return "", time.Time{}, err
		}
	}
	a, err := s.opts.Sessions.Approvals.Get(ctx, in.ApprovalID)
	switch {
	case err == nil && a.ID != in.ApprovalID || errors.Is(err, record.ErrAmbiguous):
		return "", time.Time{}, &record.NotFoundError{What: "approval", ID: in.ApprovalID}
	case err != nil:
		return "", time.Time{}, err
	case a.Outcome != "" || time.Now().After(a.ExpiresAt):
		return "", time.Time{}, &caller.Error{Status: http.StatusConflict, Code: "answered", Message: fmt.Sprintf("%s does not wait for an answer any more", a.ID)}
	}
	url, ok := s.page.QuestionLink(base, in.Person, a)
	if !ok {
		return "", time.Time{}, &record.NotFoundError{What: "named token", ID: in.Person}
	}
	return url, a.ExpiresAt, nil
}

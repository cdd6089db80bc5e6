package page

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Image is a picture of a transcript.
type Image struct {
	Source string `json:"src"` // its address on this server
	About  string `json:"alt"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

func shownImages(all []model.Image) (shown []Image) {
	for _, i := range all {
		if !hash.MatchString(i.SHA256) {
			continue
		}
		shown = append(shown, Image{"/page/sessions/" + i.SessionID + "/images/" + i.SHA256, termtext.OneLine(i.String(), termtext.MaxTitle), i.Width, i.Height})
	}
	return shown
}

// images serves the pictures that sessions have stored.
type images struct {
	answers
	sessions *store.Store
	bus      *eventbus.Bus
}

// hash is a SHA-256 in hex.
var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// imagePolicy lets a picture that is opened by itself load and run nothing.
const imagePolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

// served are the types of pictures that are stored, as their bytes say. What else a session has
// stored is not served.
var served = []string{"image/png", "image/jpeg"}

func (s *images) serve(w http.ResponseWriter, r *http.Request) {
	data, err := s.read(r.Context(), r.PathValue("id"), r.PathValue("hash"))
	if err != nil {
		s.fail(w, err)
		return
	}
	setHeaders(w)
	w.Header().Set("Content-Security-Policy", imagePolicy)
	w.Header().Set("Content-Type", http.DetectContentType(data))
	s.write(w, http.StatusOK, data)
}

func (s *images) read(ctx context.Context, id, sha256 string) ([]byte, error) {
	none := &record.NotFoundError{What: "picture", ID: sha256}
	if !hash.MatchString(sha256) {
		return nil, none
	}
	if _, err := recordOf(ctx, s.sessions, id); err != nil {
		return nil, err
	}
	data, err := s.bus.Payload(ctx, eventbus.PayloadOf(s.bus, id, sha256))
	if errors.Is(err, eventbus.ErrNoPayload) || err == nil && !slices.Contains(served, http.DetectContentType(data)) {
		return nil, none
	}
	return data, err
}

package journal

import (
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/model"
)

// Keep stores pictures with the session, and returns what its log says of them. With an error it
// returns the ones that were stored before.
func Keep(j *Journal, all []picture.Picture) (kept []model.Image, err error) {
	for _, p := range all {
		ctx, cancel := j.StoreContext()
		ref, err := eventbus.StorePayload(ctx, j.p.Bus, j.ID, p.Data)
		cancel()
		if err != nil {
			return kept, err
		}
		kept = append(kept, model.Image{
			Name: p.Name, MediaType: p.MediaType, Width: p.Width, Height: p.Height, Bytes: ref.Size, SHA256: ref.SHA256, SessionID: j.ID,
		})
	}
	return kept, nil
}

package log

import (
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// EventImages returns images as events have them.
func EventImages(images []model.Image) (out []event.Image) {
	for _, i := range images {
		out = append(out, event.Image{Name: i.Name, MediaType: i.MediaType, Width: i.Width, Height: i.Height, Bytes: i.Bytes, SHA256: i.SHA256, SessionID: i.SessionID})
	}
	return out
}

// images returns the images of an event.
func images(all []event.Image) (out []model.Image) {
	for _, i := range all {
		out = append(out, model.Image{Name: i.Name, MediaType: i.MediaType, Width: i.Width, Height: i.Height, Bytes: i.Bytes, SHA256: i.SHA256, SessionID: i.SessionID})
	}
	return out
}

package eventbus

import "testing"

// TestRoom: those who wait for room in the queue are woken once half of it is free, not with
// each batch, and however it becomes empty.
func TestRoom(t *testing.T) {
	full := func() *writer {
		w := &writer{room: make(chan struct{})}
		for range queueEntries {
			w.queue = append(w.queue, &entry{})
		}
		return w
	}
	woken := func(room <-chan struct{}) bool {
		select {
		case <-room:
			return true
		default:
			return false
		}
	}
	w := full()
	room := w.room
	for len(w.queue)-batchEntries > queueEntries/2 {
		if w.take(batchEntries, 0); woken(room) {
			t.Fatalf("woken with %d entries in the queue", len(w.queue))
		}
	}
	if w.take(batchEntries, 0); !woken(room) || w.room != nil {
		t.Errorf("not woken with %d entries in the queue", len(w.queue))
	}

	w = full()
	w.bytes = queueBytes
	room = w.room
	if w.take(queueEntries-1, 0); woken(room) {
		t.Error("woken while an entry has all the bytes")
	}
	if w.take(1, 0); !woken(room) {
		t.Error("not woken by an empty queue")
	}
}

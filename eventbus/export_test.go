package eventbus

import "time"

// SetLinger changes how long new events are read without a live reader. It is called
// before the first one.
func (b *Bus) SetLinger(d time.Duration) { b.fanOut.linger = d }

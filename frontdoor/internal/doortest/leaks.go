package doortest

import "go.uber.org/goleak"

// Main runs the tests of a package, and fails if they leave a goroutine.
func Main(m goleak.TestingM) {
	goleak.VerifyTestMain(m,
		// A client that has stored an image may leave it: see TestMain of eventbus.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

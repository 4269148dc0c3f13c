// Package hostclient is the client of any Runtime Host, embedded or remote.
//
// A View watches and steers: requests, subscriptions, the ordered stream of what
// changed, answers to Interactions. A Provider publishes capability offers and
// serves the invocations that come for them. Each is one connection with its own
// state, which it makes again when it ends; both may share one client instance.
//
// Goroutines of one connection: a reader, a writer, a watchman that pings. The
// reader never waits for anybody: what it has for the user of this package goes
// into a queue that coalesces and is bounded, what it has for the Host into the
// writer's queue.
package hostclient

package hostclient

import "time"

const (
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 30 * time.Second
	// steadyAfter is how long a connection must have been ready for its end to start over at the shortest pause;
	// otherwise a Host that accepts and drops at once would be dialed twice a second for ever.
	steadyAfter = 30 * time.Second
)

// backoff is the pause before attempt n (0 is the first after a failure): doubling from half a second to thirty
// seconds, spread evenly over its upper half by random in [0,1), so that many clients of one Host do not return together.
func backoff(n int, random float64) time.Duration {
	pause := backoffMost
	if n < 6 {
		pause = min(backoffFirst<<n, backoffMost)
	}
	return pause/2 + time.Duration(random*float64(pause/2))
}

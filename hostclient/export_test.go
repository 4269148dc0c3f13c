package hostclient

// Moments between two steps of different goroutines, which a test cannot hold from outside.

// Untold makes a View what it is when its keeper has said that the connection is ready and the View has not taken notice.
func Untold(v *View) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.link, v.linkCtx = nil, nil
}

// LoseQuery is the end of a query about an Interaction over a connection that has ended, after the next one has opened
// its session.
func LoseQuery(v *View, id string) { v.unresolved(&link{}, id) }

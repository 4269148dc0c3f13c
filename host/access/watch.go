package access

import (
	"context"
	"time"
)

// pollInterval is how often Watch looks at the file: twice within the second that a revocation may take.
const pollInterval = 400 * time.Millisecond

// Watch calls drop once for every credential that Verify has let in and that has been revoked or has expired since,
// until ctx is done. It calls unreadable, which may be nil, when the file cannot be read, once for as long as the reason
// is the same; meanwhile the credentials that were read last still count. Both are called from this goroutine, one at a
// time. A store has one watcher.
func (s *Store) Watch(ctx context.Context, drop func(Credential), unreadable func(error)) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var said string
	for {
		ended, err := s.ended(time.Now())
		for _, c := range ended {
			drop(c)
		}
		switch {
		case err == nil:
			said = ""
		case err.Error() != said && unreadable != nil:
			said = err.Error()
			unreadable(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// ended takes the credentials that were handed out and no longer count.
func (s *Store) ended(now time.Time) ([]Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refresh()
	var list []Credential
	for id, c := range s.handed {
		if !s.live(id, now) {
			delete(s.handed, id)
			list = append(list, c)
		}
	}
	return list, err
}

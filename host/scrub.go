package host

import (
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// keyScrub says that pages of the file may still hold what was deleted.
var keyScrub = []byte("scrub")

// markScrub asks for the file to be rewritten when the store is closed, because a freed
// page keeps its bytes until it is used again.
func markScrub(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyScrub, []byte{1}) }

// compactTx is how much one transaction of the rewriting copies.
const compactTx = 1 << 20

// scrub replaces the file by a copy of what is in it, if something was deleted. The
// database is still open and locked, and nothing else uses it.
func (s *store) scrub() error {
	marked := false
	err := s.read(func(tx *bolt.Tx) error {
		marked = tx.Bucket(bucketMeta).Get(keyScrub) != nil
		return nil
	})
	if err != nil || !marked {
		return err
	}
	if !s.inPlace() {
		return fmt.Errorf("rewrite the store %s: %w", s.path, errReplaced)
	}
	tmp := s.path + ".new"
	os.Remove(tmp)
	if err := s.copyTo(tmp); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("rewrite the store %s: %w", s.path, err)
	}
	return os.Rename(tmp, s.path)
}

func (s *store) copyTo(path string) error {
	copied, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	err = guarded(func() error { return bolt.Compact(copied, s.db, compactTx) })
	if err == nil {
		err = copied.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keyScrub) })
	}
	if cerr := copied.Close(); err == nil {
		err = cerr
	}
	return err
}

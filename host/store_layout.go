package host

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// Buckets. Keys of all but meta and sessions start with the session's id and a zero
// byte, which no entity id contains, so a session is removed by prefix.
var (
	bucketMeta         = []byte("meta")         // schema, rootId
	bucketSessions     = []byte("sessions")     // id -> sessionRecord
	bucketTurns        = []byte("turns")        // session 0 turn -> turnRecord
	bucketRows         = []byte("rows")         // session 0 be64(sequence) -> one transcript row's JSON
	bucketInteractions = []byte("interactions") // session 0 interaction -> interaction record
	bucketOpen         = []byte("open")         // session -> turn; sessions with a Turn that is not terminal
	bucketPending      = []byte("pending")      // session 0 interaction -> nothing; forms without an outcome
	bucketSettled      = []byte("settled")      // be64(committedAt) session 0 interaction -> nothing; answers whose values are still kept

	buckets = [][]byte{bucketMeta, bucketSessions, bucketTurns, bucketRows, bucketInteractions, bucketOpen, bucketPending, bucketSettled}

	keySchema = []byte("schema")
	keyRootID = []byte("rootId")
)

// schemaVersion is the layout's version; a store of another one is refused, not read.
const schemaVersion = "1"

// complete says whether createBuckets would change nothing. A store that is whole is not written to when it is opened: what
// is in it may still turn out to be damaged, and then its file is kept byte for byte.
func complete(tx *bolt.Tx) bool {
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return false
		}
	}
	meta := tx.Bucket(bucketMeta)
	return string(meta.Get(keySchema)) == schemaVersion && meta.Get(keyRootID) != nil
}

func createBuckets(tx *bolt.Tx) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	switch have := meta.Get(keySchema); {
	case have == nil:
		if err := meta.Put(keySchema, []byte(schemaVersion)); err != nil {
			return err
		}
	case string(have) != schemaVersion:
		return fmt.Errorf("%w: it has layout %q, this Host reads %q", errLayout, have, schemaVersion)
	}
	if meta.Get(keyRootID) == nil {
		return meta.Put(keyRootID, []byte(newRootID()))
	}
	return nil
}

func sessionKey(sessionID, rest string) []byte {
	key := make([]byte, 0, len(sessionID)+1+len(rest))
	key = append(key, sessionID...)
	key = append(key, 0)
	return append(key, rest...)
}

func rowKey(sessionID string, sequence int64) []byte {
	return binary.BigEndian.AppendUint64(sessionKey(sessionID, ""), uint64(sequence))
}

func settledKey(committedAt int64, sessionID, interactionID string) []byte {
	key := binary.BigEndian.AppendUint64(nil, uint64(committedAt))
	return append(key, sessionKey(sessionID, interactionID)...)
}

func putJSON(tx *bolt.Tx, bucket, key []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Bucket(bucket).Put(key, data)
}

// errUnreadable is a damaged record in a page that is whole.
func errUnreadable(bucket []byte) error {
	return fmt.Errorf("the store holds a record that cannot be read in %s", bucket)
}

// getJSON reports false when there is no such key. The error means a damaged record.
func getJSON(tx *bolt.Tx, bucket, key []byte, v any) (bool, error) {
	data := tx.Bucket(bucket).Get(key)
	if data == nil {
		return false, nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%w: %w", errUnreadable(bucket), err)
	}
	return true, nil
}

// deletePrefix removes every key of bucket that starts with prefix.
func deletePrefix(tx *bolt.Tx, bucket, prefix []byte) error {
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.Seek(prefix); hasPrefix(k, prefix); k, _ = c.Seek(prefix) { // Next after Delete may skip a key
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

func hasPrefix(k, prefix []byte) bool {
	return len(k) >= len(prefix) && string(k[:len(prefix)]) == string(prefix)
}

// verify decides whether an existing file can be trusted: it must be as long as its
// header says and every page of every bucket must be reachable and well formed. A
// torn tail or a broken page fails here rather than in the middle of a request. The
// walk is our own because bbolt's checker works in a goroutine that nobody could
// recover.
func verify(db *bolt.DB, size int64) error {
	return guarded(func() error {
		return db.View(func(tx *bolt.Tx) error {
			if tx.Size() > size {
				return fmt.Errorf("the file ends after %d bytes, its header says %d", size, tx.Size())
			}
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				var last []byte
				c := b.Cursor()
				for k, _ := c.First(); k != nil; k, _ = c.Next() {
					if last != nil && string(k) <= string(last) {
						return fmt.Errorf("the keys of %s are out of order", name)
					}
					last = append(last[:0], k...)
				}
				return nil
			})
		})
	})
}

// guarded turns what bbolt does on a damaged page (a panic, a fault in its mapping)
// into an error.
func guarded(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = damagedError{fmt.Errorf("reading the store: %v", r)}
		}
	}()
	return fn()
}

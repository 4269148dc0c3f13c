package host

import (
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"askback/forms"
	"askback/protocol"
)

// retainLoop drops the values of settled forms once they are old enough.
func (h *Host) retainLoop() {
	tick := time.NewTicker(max(time.Second, min(h.opt.Retain/4, time.Minute)))
	defer tick.Stop()
	for {
		if n, err := h.forgetValues(h.opt.Clock.Now().Add(-h.opt.Retain)); err != nil {
			h.persistence("retain", err)
		} else if n > 0 {
			h.log.Info("values dropped", "interactions", n)
		}
		select {
		case <-h.background.Done():
			return
		case <-tick.C:
		}
	}
}

// forgetValues drops the values of forms that were answered at or before a time; the
// action and the time stay.
func (h *Host) forgetValues(before time.Time) (n int, err error) {
	due := false
	err = h.store.read(func(tx *bolt.Tx) error {
		k, _ := tx.Bucket(bucketSettled).Cursor().First()
		due = isDue(k, before)
		return nil
	})
	if err != nil || !due {
		return 0, err
	}
	err = h.store.write(func(tx *bolt.Tx) error {
		n = 0
		var keys [][]byte
		c := tx.Bucket(bucketSettled).Cursor()
		for k, _ := c.First(); isDue(k, before); k, _ = c.Next() {
			keys = append(keys, append([]byte(nil), k...))
		}
		for _, k := range keys {
			if err := forgetOne(tx, k[8:]); err != nil {
				return err
			}
			if err := tx.Bucket(bucketSettled).Delete(k); err != nil {
				return err
			}
			n++
		}
		return markScrub(tx)
	})
	return n, err
}

func isDue(key []byte, before time.Time) bool {
	return len(key) > 8 && int64(binary.BigEndian.Uint64(key)) <= before.UnixMilli()
}

func forgetOne(tx *bolt.Tx, key []byte) error {
	in, err := protocol.DecodeInteraction(tx.Bucket(bucketInteractions).Get(key))
	if err != nil {
		return err
	}
	if out, ok := in.Outcome.(*protocol.FormOutcome); ok {
		in.Outcome = &protocol.FormOutcome{Result: forms.Result{Action: out.Result.Action}, CommittedAt: out.CommittedAt}
	}
	data, err := protocol.EncodeInteraction(in)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketInteractions).Put(key, data)
}

package host

import (
	"bytes"
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
// action and the time stay. A form that cannot be read keeps what it holds, which is
// told once, and is no reason to keep the values of others.
func (h *Host) forgetValues(before time.Time) (n int, err error) {
	var due [][]byte
	err = h.store.read(func(tx *bolt.Tx) error {
		due = h.dueValues(tx, before)
		return nil
	})
	if err != nil || len(due) == 0 {
		return 0, err
	}
	var damaged [][]byte
	err = h.store.write(func(tx *bolt.Tx) error {
		n, damaged = 0, nil
		for _, k := range due {
			switch readable, err := forgetOne(tx, k); {
			case err != nil:
				return err
			case !readable:
				damaged = append(damaged, k)
			default:
				n++
			}
		}
		if n == 0 {
			return nil
		}
		return markScrub(tx)
	})
	if err != nil {
		return 0, err
	}
	for _, k := range damaged {
		h.keptValues[string(k)] = true
		session, form, _ := bytes.Cut(k[timeBytes:], []byte{0})
		h.log.Error("values kept", "path", h.store.path, "session", string(session), "interaction", string(form),
			"error", errUnreadable(bucketInteractions).Error())
	}
	return n, nil
}

// dueValues lists the kept answers that are old enough, but for those that are known to be unreadable.
func (h *Host) dueValues(tx *bolt.Tx, before time.Time) (due [][]byte) {
	c := tx.Bucket(bucketSettled).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) <= timeBytes {
			continue // no Host has written that
		}
		if int64(binary.BigEndian.Uint64(k)) > before.UnixMilli() {
			break
		}
		if !h.keptValues[string(k)] {
			due = append(due, bytes.Clone(k))
		}
	}
	return due
}

// timeBytes is what a key of the kept answers begins with.
const timeBytes = 8

// forgetOne drops the values of one kept answer, by its key. It reports false, and
// changes nothing, when the record cannot be read.
func forgetOne(tx *bolt.Tx, settled []byte) (readable bool, err error) {
	key := settled[timeBytes:]
	if data := tx.Bucket(bucketInteractions).Get(key); data != nil {
		bare, ok := withoutValues(data)
		if !ok {
			return false, nil
		}
		if err := tx.Bucket(bucketInteractions).Put(key, bare); err != nil {
			return true, err
		}
	}
	return true, tx.Bucket(bucketSettled).Delete(settled)
}

func withoutValues(data []byte) (bare []byte, ok bool) {
	in, err := protocol.DecodeInteraction(data)
	if err != nil {
		return nil, false
	}
	if out, ok := in.Outcome.(*protocol.FormOutcome); ok {
		in.Outcome = &protocol.FormOutcome{Result: forms.Result{Action: out.Result.Action}, CommittedAt: out.CommittedAt}
	}
	bare, err = protocol.EncodeInteraction(in)
	return bare, err == nil
}

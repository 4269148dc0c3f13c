package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"askback/host/access"
	"askback/protocol"
)

func TestSecondHostIsRefused(t *testing.T) {
	r := newRig(t, nil)
	h, err := Open(r.opt)
	if !errors.Is(err, ErrStoreInUse) {
		t.Fatalf("%v, %v", h, err)
	}
	if !strings.Contains(err.Error(), r.opt.Dir) {
		t.Errorf("the refusal does not name the store: %v", err)
	}
}

func TestStoreModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "store")
	r := newRig(t, func(o *Options) { o.Dir = dir })
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, StoreFile): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	r.stop()
	path := filepath.Join(dir, StoreFile)
	if err := os.Chmod(path, 0o666); err != nil { // as a copy may leave it
		t.Fatal(err)
	}
	newRig(t, func(o *Options) { o.Dir = dir }).stop()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a store that others could read is opened with mode %v (%v)", info.Mode(), err)
	}
}

// TestDamagedStore: whatever was done to the file, the Host starts, says where the old
// one is, and has not touched a byte of it.
func TestDamagedStore(t *testing.T) {
	src := filledStore(t)
	whole, err := os.ReadFile(filepath.Join(src, StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	random := rand.New(rand.NewPCG(1, 2))
	used := usedBytes(t, filepath.Join(src, StoreFile))
	whole = whole[:used]
	damage := map[string][]byte{
		"torn_tail":   whole[:used-page],
		"torn_half":   whole[:len(whole)/2],
		"torn_header": whole[:100],
		"torn_empty":  {},
		"garbage":     bytes.Repeat([]byte("not a database "), 4000),
		"zeros":       make([]byte, len(whole)),
	}
	both := bytes.Clone(whole)
	copy(both[16:64], make([]byte, 48))
	copy(both[page+16:page+64], make([]byte, 48))
	damage["both_headers"] = both
	for i := range 12 {
		torn := bytes.Clone(whole)
		at := 2*page + random.IntN(len(torn)-3*page)
		for j := range page {
			torn[at+j] = byte(random.IntN(256))
		}
		damage[fmt.Sprintf("random_page_%d", i)] = torn
	}
	for name, data := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, StoreFile)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			log := &syncBuffer{}
			r := newRig(t, func(o *Options) { o.Dir = dir; o.Logger = jsonLogger(log) })
			aside := r.h.SetAside()
			if strings.HasPrefix(name, "random_page") && aside == nil {
				return // the page was free, or held bytes that any bytes may stand for
			}
			if aside == nil {
				t.Fatal("the store was not set aside")
			}
			kept, err := os.ReadFile(aside.MovedTo)
			if err != nil || !bytes.Equal(kept, data) {
				t.Errorf("the damaged file was not kept as it was: %v", err)
			}
			if aside.Path != path || !strings.Contains(log.String(), aside.MovedTo) {
				t.Errorf("not reported: %+v\n%s", aside, log)
			}
			r.connect(access.RoleClient, 81, "x").newSession("ask")
		})
	}
}

// What the system refuses says nothing about the store: it stays where it is, and nothing new takes its place.
func TestRefusedStoreIsNotSetAside(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.ENOMEM, syscall.EROFS, syscall.EIO} {
		if !refusedBySystem(fmt.Errorf("open: %w", &os.PathError{Op: "open", Path: "host.db", Err: errno})) {
			t.Errorf("%v is taken for damage", errno)
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, damaged("page 3"), berrors.ErrChecksum} {
		if refusedBySystem(err) {
			t.Errorf("%v is taken for the system's refusal", err)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, StoreFile), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := Open(Options{Dir: dir, Access: access.Ephemeral()})
	if err == nil {
		h.Close()
		t.Fatal("a folder was opened as a store")
	}
	if !strings.Contains(err.Error(), StoreFile) {
		t.Errorf("%v does not name the store", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("the folder now holds %v", names)
	}
}

// usedBytes is how much of a store's file its header accounts for.
func usedBytes(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.View(func(tx *bolt.Tx) error { n = int(tx.Size()); return nil })
	return n
}

// TestDamagedRecords: pages that are whole may hold what no Host has written; that is set aside as well.
func TestDamagedRecords(t *testing.T) {
	src := filledStore(t)
	some := func(tx *bolt.Tx) (session []byte) {
		session, _ = tx.Bucket(bucketSessions).Cursor().First()
		return session
	}
	for name, harm := range map[string]func(tx *bolt.Tx) error{
		"session": func(tx *bolt.Tx) error { return tx.Bucket(bucketSessions).Put(some(tx), []byte("{")) },
		"pending without its record": func(tx *bolt.Tx) error {
			return tx.Bucket(bucketPending).Put(sessionKey(string(some(tx)), "i"), nil)
		},
		"open turn of no session":     func(tx *bolt.Tx) error { return tx.Bucket(bucketOpen).Put([]byte("gone"), []byte("t")) },
		"open turn that is not there": func(tx *bolt.Tx) error { return tx.Bucket(bucketOpen).Put(some(tx), []byte("gone")) },
		"open turn that is no record": func(tx *bolt.Tx) error {
			if err := tx.Bucket(bucketTurns).Put(sessionKey(string(some(tx)), "t"), []byte("x")); err != nil {
				return err
			}
			return tx.Bucket(bucketOpen).Put(some(tx), []byte("t"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, StoreFile)
			data, err := os.ReadFile(filepath.Join(src, StoreFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(harm), db.Update(markScrub), db.Close()); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, func(o *Options) { o.Dir = dir })
			aside := r.h.SetAside()
			if aside == nil || aside.Path != path || aside.Reason == "" {
				t.Fatalf("not set aside: %+v", aside)
			}
			kept, err := bolt.Open(aside.MovedTo, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			if err := kept.View(func(tx *bolt.Tx) error {
				if n := tx.Bucket(bucketSessions).Stats().KeyN; n < 20 {
					t.Errorf("%d sessions are kept", n)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			r.connect(access.RoleClient, 81, "x").newSession("ask")
		})
	}
}

// TestUnreadableRecords: a record whose bytes have changed inside a whole page is told as what it is, with the store's path
// and the bucket in the log: not as something that is not there, and not as it stands.
func TestUnreadableRecords(t *testing.T) {
	s := newScene(t, nil)
	form := s.begin().form("f")
	s.reply(form, accepting("vermilion"))
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.view.terminal(s.turn)
	before := s.rows()
	key := sessionKey(s.session, form.text("interactionId"))
	harm := func(bucket, key []byte) {
		t.Helper()
		changeByte(t, s.h.store, bucket, key)
	}
	gone := []int{1, len(before) - 1} // the newest comes in pieces
	harm(bucketInteractions, key)
	for _, i := range gone {
		harm(bucketRows, rowKey(s.session, int64(i)))
	}
	harm(bucketTurns, sessionKey(s.session, s.turn))
	dir := s.opt.Dir
	reason := func(p *peer, op string, input frame) {
		t.Helper()
		if code, message := p.refused(op, input); code != "persistence_failed" || !strings.Contains(message, "read") {
			t.Errorf("%s: %s %q", op, code, message)
		}
	}
	query := frame{"sessionId": s.session, "interactionId": form.text("interactionId")}
	answer := frame{"sessionId": s.session, "interactionId": form.text("interactionId"), "answer": accepting("vermilion")}
	reason(s.view, "interaction.query", query)
	reason(s.view, "interaction.answer", answer)
	after := s.rows()
	for i, row := range after {
		note := row.Type == protocol.RowSystemNote && row.Kind == noteUnreadable
		if note != slices.Contains(gone, i) || !note && !bytes.Equal(row.Raw, before[i].Raw) {
			t.Errorf("row %d is %s", i, row.Raw)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d rows, there were %d", len(after), len(before))
	}
	log := s.log.String()
	s.stop()

	// Now the newest Turn is on disk alone, and with it the session cannot be read.
	r := newRig(t, func(o *Options) { o.Dir = dir })
	view := r.connect(access.RoleClient, 81, "terminal")
	reason(view, "turn.query", frame{"sessionId": s.session, "turnId": s.turn})
	reason(view, "interaction.query", query)
	reason(view, "interaction.answer", answer)
	if code, _ := view.refused("interaction.query", frame{"sessionId": "nowhere", "interactionId": "i"}); code != "not_found" {
		t.Errorf("no such session: %s", code)
	}
	log += r.log.String()
	for _, word := range []string{filepath.Join(dir, StoreFile), "cannot be read in interactions", "cannot be read in rows", "cannot be read in turns"} {
		if !strings.Contains(log, word) {
			t.Errorf("the log does not name %q", word)
		}
	}
	if strings.Contains(log, "colour") || strings.Contains(log, "vermilion") {
		t.Errorf("the log holds an answer:\n%s", log)
	}
}

func TestForeignLayoutIsRefused(t *testing.T) {
	dir := filledStore(t)
	path := filepath.Join(dir, StoreFile)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keySchema, []byte("99")) }); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if h, err := Open(Options{Dir: dir, Access: access.Ephemeral()}); err == nil {
		h.Close()
		t.Fatal("a store of another version was opened")
	} else if !errors.Is(err, errLayout) {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it was moved: %v", err)
	}
}

// filledStore is a closed store with a few sessions, turns and answers.
func filledStore(t *testing.T) string {
	t.Helper()
	s := newScene(t, nil)
	for range 3 {
		form := s.begin().form("f")
		s.reply(form, accepting("red"))
		s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{{"type": "text", "text": strings.Repeat("x", 9000)}}}})
		s.view.terminal(s.turn)
	}
	for range 20 {
		s.view.newSession("ask")
	}
	s.stop()
	return s.opt.Dir
}

// TestGroupCommit: a write that fails is answered alone, its neighbours are stored.
func TestGroupCommit(t *testing.T) {
	st, _, err := openStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	boom := errors.New("boom")
	var wg sync.WaitGroup
	errs := make([]error, 200)
	for i := range errs {
		wg.Go(func() {
			errs[i] = st.write(func(tx *bolt.Tx) error {
				if i%7 == 0 {
					return boom
				}
				return tx.Bucket(bucketTurns).Put(fmt.Append(nil, i), []byte("x"))
			})
		})
	}
	wg.Wait()
	st.read(func(tx *bolt.Tx) error {
		for i, err := range errs {
			stored := tx.Bucket(bucketTurns).Get(fmt.Append(nil, i)) != nil
			if bad := i%7 == 0; bad == stored || bad != errors.Is(err, boom) {
				t.Errorf("write %d: stored %v, %v", i, stored, err)
			}
		}
		return nil
	})
	st.close()
	if err := st.write(func(*bolt.Tx) error { return nil }); !errors.Is(err, errStoreClosed) {
		t.Errorf("write after close: %v", err)
	}
}

// TestRemovedMeansGone: what belonged to a removed session, or was dropped by retention,
// is in no byte of the file once the Host has closed.
func TestRemovedMeansGone(t *testing.T) {
	const marker = "marker-7c1e5d"
	for _, how := range []string{"remove", "retain"} {
		t.Run(how, func(t *testing.T) {
			s := newScene(t, nil)
			form := s.begin().form("f")
			s.reply(form, accepting(marker))
			s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
			s.view.terminal(s.turn)
			if how == "remove" {
				item := s.view.ok("session.catalog.query", frame{"kind": "get", "sessionId": s.session})
				s.view.ok("session.remove", frame{"sessionId": s.session, "expectedRevision": item.at("session.revision")})
			} else if n, err := s.h.forgetValues(time.Now()); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			s.stop()
			data, err := os.ReadFile(filepath.Join(s.opt.Dir, StoreFile))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte(marker)) {
				t.Error("the answer is still in the file")
			}
			if strings.Contains(s.log.String(), marker) {
				t.Error("the answer is in the log")
			}
			s.start() // and the rewritten file is a store
			s.connect(access.RoleClient, 81, "x").newSession("ask")
		})
	}
}

func TestRetentionKeepsTheAction(t *testing.T) {
	s := newScene(t, nil)
	form := s.begin().form("f")
	done := s.reply(form, accepting("red"))
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.view.terminal(s.turn)
	if n, err := s.h.forgetValues(time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Fatalf("dropped early: %d, %v", n, err)
	}
	if n, err := s.h.forgetValues(time.Now()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	in := s.view.ok("interaction.query", frame{"sessionId": s.session, "interactionId": form.text("interactionId")})
	outcome := frame(in["outcome"].(map[string]any))
	if outcome.text("action") != "accept" || outcome["values"] != nil || outcome["committedAt"] != done.at("outcome.committedAt") {
		t.Errorf("%v", outcome)
	}
	if n, _ := s.h.forgetValues(time.Now()); n != 0 {
		t.Error("dropped twice")
	}
}

// TestManySessions opens a store of 10,000 sessions, within its time and memory.
func TestManySessions(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	st, _, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = st.write(func(tx *bolt.Tx) error {
		for i := range n {
			rec := &sessionRecord{Create: digest(fmt.Append(nil, i)), Revision: 3, CreatedAt: int64(i), LastUsedAt: int64(i), Name: fmt.Sprintf("session %d", i),
				Status: protocol.SessionActive, PermissionMode: protocol.PermissionAsk, Collaboration: protocol.CollaborationAgent,
				Orchestration: protocol.OrchestrationDefault, RootTurn: newID(), Rows: 8}
			id := newID()
			if err := putJSON(tx, bucketSessions, []byte(id), rec); err != nil {
				return err
			}
			if err := appendRows(tx, id, 0, []row{row(`{"type":"user","id":"a","turnId":"b","ts":1,"text":"hello"}`)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	st.close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	h, err := Open(Options{Dir: dir, Access: access.Ephemeral()})
	took := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d sessions opened in %v, %d MiB of heap", n, took, heap)
	// The bound is for a machine that does nothing else.
	if limit := 300 * time.Millisecond; took > limit && !raceEnabled && os.Getenv("ASKBACK_COSTS") != "" {
		t.Errorf("opened in %v", took)
	}
	if heap > 30 {
		t.Errorf("%d MiB of heap", heap)
	}
	page := h.catalogPage(first2(h.catalog.list()))
	if data, _ := json.Marshal(page); len(data) > protocol.MaxCatalogBytes {
		t.Errorf("a page of %d bytes", len(data))
	}
}

func first2(list []*session, rev int64) ([]*session, int64, int) { return list, rev, 0 }

// changeByte damages one record of a store inside a whole page.
func changeByte(t *testing.T, st *store, bucket, key []byte) {
	t.Helper()
	err := st.write(func(tx *bolt.Tx) error {
		data := bytes.Clone(tx.Bucket(bucket).Get(key))
		data[0] ^= 1
		return tx.Bucket(bucket).Put(key, data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answered is a session with one Turn whose form was answered; it returns the form's id.
func (s *scene) answered(value string) (session, interaction string) {
	s.t.Helper()
	form := s.begin().form("f")
	s.reply(form, accepting(value))
	s.provider.tell("result", s.call, frame{"result": frame{"content": []frame{}}})
	s.view.terminal(s.turn)
	return s.session, form.text("interactionId")
}

// TestRetentionPassesWhatIsDamaged: a form that cannot be read is named, once a start, and the values of all others are
// dropped as if it were not there.
func TestRetentionPassesWhatIsDamaged(t *testing.T) {
	s := newScene(t, nil)
	session, bad := s.answered("vermilion")
	_, good := s.answered("red")
	changeByte(t, s.h.store, bucketInteractions, sessionKey(session, bad))
	err := s.h.store.write(func(tx *bolt.Tx) error { // keys that no Host has written, and one of a record that is gone
		b := tx.Bucket(bucketSettled)
		return errors.Join(b.Put([]byte("\x00"), nil), b.Put(make([]byte, 8), nil), b.Put(settledKey(1, session, "gone"), nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	dropped := func(want int) {
		t.Helper()
		if n, err := s.h.forgetValues(time.Now()); n != want || err != nil {
			t.Errorf("%d dropped, %v; want %d", n, err, want)
		}
	}
	dropped(2)
	dropped(0)
	in := s.view.ok("interaction.query", frame{"sessionId": session, "interactionId": good})
	if in.at("outcome.values") != nil {
		t.Errorf("kept: %v", in)
	}
	s.answered("blue")
	dropped(1)
	if n := strings.Count(s.log.String(), `"values kept"`); n != 1 || !strings.Contains(s.log.String(), bad) {
		t.Errorf("told %d times\n%s", n, s.log)
	}
	s.stop()
	s.start()
	dropped(0)
	if n := strings.Count(s.log.String(), `"values kept"`); n != 2 {
		t.Errorf("told %d times after a second start", n)
	}
	if strings.Contains(s.log.String(), "vermilion") {
		t.Errorf("the log holds an answer:\n%s", s.log)
	}
}

// TestRemovalOfWhatIsDamaged: a session goes with all that it holds, readable or not, and what was damaged is named.
func TestRemovalOfWhatIsDamaged(t *testing.T) {
	for name, restarted := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, nil)
			session, bad := s.answered("vermilion")
			changeByte(t, s.h.store, bucketInteractions, sessionKey(session, bad))
			changeByte(t, s.h.store, bucketTurns, sessionKey(session, s.turn))
			view := s.view
			if restarted {
				s.stop()
				s.start()
				view = s.connect(access.RoleClient, 81, "x")
			}
			item := view.ok("session.catalog.query", frame{"kind": "get", "sessionId": session})
			if got := view.ok("session.remove", frame{"sessionId": session, "expectedRevision": item.at("session.revision")}); got.text("kind") != "removed" {
				t.Errorf("%v", got)
			}
			s.h.store.read(func(tx *bolt.Tx) error {
				for _, b := range buckets {
					tx.Bucket(b).ForEach(func(k, _ []byte) error {
						if bytes.Contains(k, []byte(session)) {
							t.Errorf("%s still holds %q", b, k)
						}
						return nil
					})
				}
				return nil
			})
			if log := s.log.String(); !strings.Contains(log, bad) || !strings.Contains(log, "cannot be read in interactions") || strings.Contains(log, "vermilion") {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

// TestStoreThatWasRemoved: a Host whose file is gone stores nothing that would be lost with it, and leaves the file alone
// that another Host has made in its place.
func TestStoreThatWasRemoved(t *testing.T) {
	r := newRig(t, nil)
	view := r.connect(access.RoleClient, 81, "x")
	session := view.newSession("ask")
	view.ok("session.remove", frame{"sessionId": session, "expectedRevision": 1}) // the file is to be rewritten on close
	path := filepath.Join(r.opt.Dir, StoreFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	create := func(p *peer) string {
		return p.ask("session.create", frame{"sessionId": newID(), "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
	}
	if f := view.answer(create(view)); f.text("error.code") != "persistence_failed" {
		t.Errorf("without a file: %v", f)
	}
	other := newRig(t, func(o *Options) { o.Dir = r.opt.Dir })
	kept := other.connect(access.RoleClient, 81, "x").newSession("ask")
	if f := view.answer(create(view)); f.text("error.code") != "persistence_failed" {
		t.Errorf("beside another Host: %v", f)
	}
	if err := r.h.Close(); !errors.Is(err, errReplaced) || !strings.Contains(err.Error(), path) {
		t.Errorf("closed with %v", err)
	}
	if !strings.Contains(r.log.String(), errReplaced.Error()) {
		t.Errorf("the log:\n%s", r.log)
	}
	other.stop()
	other.start()
	if item := other.connect(access.RoleClient, 81, "x").ok("session.catalog.query", frame{"kind": "get", "sessionId": kept}); item.text("session.id") != kept {
		t.Errorf("what the other Host stored is gone: %v", item)
	}
}

// TestLinkedStore: where the store is a link, its file stays where it leads: rewritten, set aside and made anew there.
func TestLinkedStore(t *testing.T) {
	dir, disk := t.TempDir(), t.TempDir()
	link, file := filepath.Join(dir, StoreFile), filepath.Join(disk, "answers.db")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	list := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name()+" "+e.Type().String()[:1])
		}
		return names
	}
	r := newRig(t, func(o *Options) { o.Dir = dir })
	view := r.connect(access.RoleClient, 81, "x")
	gone, kept := view.newSession("ask"), view.newSession("ask")
	view.ok("session.remove", frame{"sessionId": gone, "expectedRevision": 1})
	r.stop()
	if here, there := list(dir), list(disk); !slices.Equal(here, []string{"host.db L"}) || !slices.Equal(there, []string{"answers.db -"}) {
		t.Fatalf("%v, %v", here, there)
	}
	r.start()
	if item := r.connect(access.RoleClient, 81, "x").ok("session.catalog.query", frame{"kind": "get", "sessionId": kept}); item.text("session.id") != kept {
		t.Errorf("lost: %v", item)
	}
	err := r.h.store.write(func(tx *bolt.Tx) error { return tx.Bucket(bucketSessions).Put([]byte("bad"), []byte("{")) })
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.start() // pages are whole, a record is not
	aside := r.h.SetAside()
	if aside == nil || filepath.Dir(aside.MovedTo) != disk {
		t.Fatalf("set aside: %+v", aside)
	}
	r.connect(access.RoleClient, 81, "x").newSession("ask")
	r.stop()
	if here, there := list(dir), list(disk); !slices.Equal(here, []string{"host.db L"}) || len(there) != 2 || there[0] != "answers.db -" {
		t.Errorf("%v, %v", here, there)
	}
}

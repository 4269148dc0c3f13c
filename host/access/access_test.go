package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Store, name string, role Role, life time.Duration) string {
	t.Helper()
	tok, err := s.Add(name, role, life)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestRoles(t *testing.T) {
	for _, tc := range []struct {
		name string
		role Role
		want Grants
	}{
		{"", RoleClient, Grants{Owner: true}},
		{"client", RoleClient, Grants{Owner: true}},
		{"provider", RoleProvider, Grants{Publish: true, Trusted: true}},
		{"both", RoleBoth, Grants{Owner: true, Publish: true}},
	} {
		role, err := ParseRole(tc.name)
		if err != nil || role != tc.role || role.Grants() != tc.want {
			t.Errorf("%q: %v %+v %v", tc.name, role, role.Grants(), err)
		}
	}
	for _, bad := range []string{"Client", "owner", "both ", "client,provider"} {
		if r, err := ParseRole(bad); err == nil {
			t.Errorf("%q was read as %q", bad, r)
		}
	}
	if (Role("owner").Grants() != Grants{}) {
		t.Error("an unknown role allows something")
	}
}

func TestCheckName(t *testing.T) {
	for _, ok := range []string{"a", "Laptop-2.home", "9_", strings.Repeat("x", 64)} {
		if err := CheckName(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", " ", ".x", "-x", "_x", "a b", "a/b", "é", "a\n", "a\x00", strings.Repeat("x", 65)} {
		if CheckName(bad) == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestTokenShape(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		tok := newToken()
		if !WellFormed(tok) || seen[tok] || len(tok) != len("askb_rh_")+43 {
			t.Fatalf("bad token %q", tok)
		}
		seen[tok] = true
	}
	good := TokenPrefix + strings.Repeat("A", 43)
	for _, bad := range []string{
		"", TokenPrefix, good[:len(good)-1], good + "A", "maka_rh_" + strings.Repeat("A", 43), strings.ToUpper(TokenPrefix) + good[8:],
		" " + good, good + "\n", good[:len(good)-1] + "=", good[:len(good)-1] + "+", good[:len(good)-1] + "B",
	} {
		if WellFormed(bad) {
			t.Errorf("%q is well-formed", bad)
		}
	}
}

func TestAddVerifyRevoke(t *testing.T) {
	for _, kind := range []string{"file", "memory"} {
		t.Run(kind, func(t *testing.T) {
			s := Ephemeral()
			if kind == "file" {
				s = open(t, filepath.Join(t.TempDir(), "data", "tokens.json"))
			}
			tok := add(t, s, "laptop", RoleBoth, 0)
			other := add(t, s, "ci", RoleProvider, time.Hour)
			c, ok := s.Verify(tok)
			if !ok || c.Name != "laptop" || c.Role != RoleBoth || c.Grants != RoleBoth.Grants() || c.ID == "" || !c.Expires.IsZero() {
				t.Fatalf("%+v %v", c, ok)
			}
			if again, _ := s.Verify(tok); again != c {
				t.Error("a second look differs")
			}
			if o, ok := s.Verify(other); !ok || o.ID == c.ID || o.Expires.Sub(o.Created) != time.Hour {
				t.Errorf("%+v", o)
			}
			for _, bad := range []string{"", newToken(), tok[:len(tok)-1], tok + "x", "Bearer " + tok} {
				if _, ok := s.Verify(bad); ok {
					t.Errorf("%q verified", bad)
				}
			}
			if _, err := s.Add("laptop", RoleClient, 0); !errors.Is(err, ErrExists) {
				t.Errorf("a second laptop: %v", err)
			}
			if err := s.Revoke("nobody"); !errors.Is(err, ErrNotFound) {
				t.Errorf("revoking nobody: %v", err)
			}
			if err := s.Revoke("laptop"); err != nil {
				t.Fatal(err)
			}
			if _, ok := s.Verify(tok); ok || s.Live(c.ID) {
				t.Error("still live after revocation")
			}
			fresh := add(t, s, "laptop", RoleClient, 0)
			if n, _ := s.Verify(fresh); n.ID == c.ID {
				t.Error("the principal was used again")
			}
			list, err := s.List()
			if err != nil || len(list) != 2 || list[0].Name != "ci" || list[1].Name != "laptop" {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	s := Ephemeral()
	for _, tc := range []struct {
		name string
		role Role
		life time.Duration
		want string
	}{
		{"a b", RoleClient, 0, "letters, digits"},
		{"", RoleClient, 0, "1 to 64"},
		{"x", "owner", 0, "role \"owner\" is unknown"},
		{"x", RoleClient, -time.Second, "ended already"},
	} {
		if tok, err := s.Add(tc.name, tc.role, tc.life); err == nil || tok != "" || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %q %v", tc, tok, err)
		}
	}
	for i := range MaxCredentials {
		add(t, s, fmt.Sprint("n", i), RoleClient, 0)
	}
	if _, err := s.Add("more", RoleClient, 0); !errors.Is(err, ErrFull) {
		t.Errorf("token 257: %v", err)
	}
}

// The file holds no token, is readable by its owner only, and is replaced rather than rewritten.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "tokens.json")
	s := open(t, path)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("opening made a file")
	}
	tok := add(t, s, "laptop", RoleClient, time.Hour)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), tok) || strings.Contains(string(data), tok[len(TokenPrefix):]) {
		t.Error("the token is in the file")
	}
	for _, p := range []string{path, path + ".lock"} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", p, info.Mode(), err)
		}
	}
	if info, _ := os.Stat(filepath.Dir(path)); info.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v", info.Mode())
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could write is opened with mode %v (%v)", info.Mode(), err)
	}
	before, _ := os.Stat(path)
	add(t, s, "other", RoleBoth, 0)
	if after, _ := os.Stat(path); os.SameFile(before, after) {
		t.Error("the file was rewritten in place")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	again := open(t, path)
	c, ok := again.Verify(tok)
	if w, _ := s.Verify(tok); !ok || c != w {
		t.Errorf("read back %+v, had %+v", c, w)
	}
}

func TestBadFile(t *testing.T) {
	good := func() string {
		e := []entry{{Credential{ID: strings.Repeat("ab", 16), Name: "x", Role: RoleClient}, digest{}}}
		b, _ := encodeEntries(e)
		return string(b)
	}()
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "not a token file"},
		{"torn", good[:len(good)/2], "not a token file"},
		{"two values", good + good, "not a token file"},
		{"unknown key", strings.Replace(good, `"name"`, `"nick"`, 1), "not a token file"},
		{"wrong case", strings.Replace(good, `"name"`, `"Name"`, 1), "not a token file"},
		{"duplicate key", strings.Replace(good, `"name": "x"`, `"name": "x", "name": "y"`, 1), "not a token file"},
		{"version", strings.Replace(good, `"version": 1`, `"version": 2`, 1), "version 2"},
		{"role", strings.Replace(good, `"client"`, `"owner"`, 1), "role"},
		{"no role", strings.Replace(good, `"client"`, `""`, 1), "role"},
		{"name", strings.Replace(good, `"x"`, `"x\u001b"`, 1), "letters, digits"},
		{"id", strings.Replace(good, "abab", "ABAB", 1), "id is not"},
		{"hash", strings.Replace(good, strings.Repeat("00", 32), strings.Repeat("00", 31), 1), "sha256"},
		{"too large", good + strings.Repeat(" ", maxFile), "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokens.json")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if now, _ := os.ReadFile(path); string(now) != tc.text {
				t.Error("the file was changed")
			}
		})
	}
	if _, err := decodeEntries([]byte(good)); err != nil {
		t.Errorf("the file they were made from: %v", err)
	}
}

// Two stores on one file stand for two processes.
func TestOtherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	synctest.Test(t, func(t *testing.T) {
		host, cli := open(t, path), open(t, path)
		tok := add(t, cli, "late", RoleClient, 0)
		if _, ok := host.Verify(tok); !ok {
			t.Fatal("a running Host does not know a new token")
		}
		ctx, cancel := context.WithCancel(t.Context())
		dropped := make(chan Credential, 2)
		var wg sync.WaitGroup
		wg.Go(func() { host.Watch(ctx, func(c Credential) { dropped <- c }, nil) })
		start := time.Now()
		if err := cli.Revoke("late"); err != nil {
			t.Fatal(err)
		}
		if c := <-dropped; c.Name != "late" || time.Since(start) > time.Second {
			t.Errorf("dropped %v after %v", c, time.Since(start))
		}
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		if len(dropped) != 0 {
			t.Errorf("and then %v", <-dropped)
		}
	})
}

// TestLinkedFile: what is changed through a link is changed for whoever reads the file that it leads to.
func TestLinkedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "real", "tokens.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "tokens.json")
	if err := errors.Join(os.Symlink("hop", link), os.Symlink(filepath.Join("real", "tokens.json"), filepath.Join(dir, "hop"))); err != nil {
		t.Skip(err)
	}
	cli := open(t, link)
	tok := add(t, cli, "laptop", RoleClient, 0)
	host := open(t, file)
	if _, ok := host.Verify(tok); !ok {
		t.Error("a token that was added through the link is not in the file")
	}
	if err := cli.Revoke("laptop"); err != nil {
		t.Fatal(err)
	}
	if _, ok := host.Verify(tok); ok {
		t.Error("a token that was revoked through the link still counts")
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

// TestPipe: what is no file is told, and not waited for.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Skipf("%v %s", err, out)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// The file is read again even when stamp and size stay the same, as two quick changes may leave them.
func TestSameStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	a, b := Ephemeral(), Ephemeral()
	ta, tb := add(t, a, "one", RoleClient, 0), add(t, b, "two", RoleClient, 0)
	write := func(s *Store) {
		data, _ := encodeEntries(s.entries)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a)
	s := open(t, path)
	stamp, _ := os.Stat(path)
	write(b) // same inode, and below the same time
	if err := os.Chtimes(path, stamp.ModTime(), stamp.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Verify(ta); ok {
		t.Error("a token that is gone still counts")
	}
	if _, ok := s.Verify(tb); !ok {
		t.Error("the new token does not count")
	}
}

func TestConcurrentAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(path)
			if err == nil {
				_, err = s.Add(fmt.Sprint("n", i), RoleClient, 0)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := open(t, path).List(); err != nil || len(list) != 8 {
		t.Errorf("%d of 8 tokens are there: %v", len(list), err)
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Ephemeral()
		short, long, unused := add(t, s, "short", RoleClient, time.Minute), add(t, s, "long", RoleClient, 0), add(t, s, "unused", RoleClient, time.Minute)
		_ = unused
		s.Verify(short)
		s.Verify(long)
		type drop struct {
			name string
			at   time.Duration
		}
		var mu sync.Mutex // the fake clock orders the goroutines, but not their memory
		var drops []drop
		dropped := func() []drop {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(drops)
		}
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			s.Watch(ctx, func(c Credential) {
				mu.Lock()
				defer mu.Unlock()
				drops = append(drops, drop{c.Name, time.Since(start)})
			}, nil)
		})
		time.Sleep(59 * time.Second)
		if got := dropped(); len(got) != 0 {
			t.Errorf("dropped early: %v", got)
		}
		time.Sleep(2 * time.Second)
		if got := dropped(); len(got) != 1 || got[0].name != "short" || got[0].at > 61*time.Second {
			t.Errorf("after expiry: %v", got)
		}
		if _, ok := s.Verify(short); ok {
			t.Error("an expired token verified")
		}
		if _, err := s.Add("short", RoleBoth, 0); err != nil {
			t.Errorf("the name of an expired token is not free: %v", err)
		}
		if err := s.Revoke("long"); err != nil {
			t.Fatal(err)
		}
		if got := dropped(); len(got) != 2 || got[1] != (drop{"long", 61 * time.Second}) {
			t.Errorf("a revocation in this process: %v", got)
		}
		cancel()
		wg.Wait()
	})
}

// A file that cannot be read grants nobody anything new and takes nothing away; the owner is told once.
func TestWatchUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		s := open(t, path)
		tok := add(t, s, "a", RoleClient, 0)
		c, _ := s.Verify(tok)
		said, dropped := 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			s.Watch(ctx, func(Credential) { dropped++ }, func(err error) {
				said++
				if !strings.Contains(err.Error(), path) {
					t.Errorf("%v does not name the file", err)
				}
			})
		})
		synctest.Wait()
		saved, _ := os.ReadFile(path)
		os.WriteFile(path, []byte("{"), 0o600)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if said != 1 || dropped != 0 || !s.Live(c.ID) {
			t.Errorf("said %d times, dropped %d", said, dropped)
		}
		if _, err := s.Add("b", RoleClient, 0); err == nil {
			t.Error("a change replaced a file that was not understood")
		}
		os.WriteFile(path, saved, 0o600)
		time.Sleep(time.Second)
		os.Remove(path)
		time.Sleep(time.Second)
		synctest.Wait()
		if dropped != 1 || s.Live(c.ID) {
			t.Errorf("after the file was removed: dropped %d", dropped)
		}
		cancel()
		wg.Wait()
	})
}

func TestLockHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	a, b := open(t, path), open(t, path)
	unlock, err := a.lock()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(60*time.Millisecond, unlock)
	if _, err := b.Add("x", RoleClient, 0); err != nil {
		t.Errorf("waiting for the lock: %v", err)
	}
}

func FuzzDecodeEntries(f *testing.F) {
	s := Ephemeral()
	s.Add("a", RoleClient, 0)
	s.Add("b", RoleBoth, time.Hour)
	b, _ := encodeEntries(s.entries)
	f.Add(b)
	f.Add([]byte(`{"version":1,"tokens":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeEntries(data)
		if err != nil {
			return
		}
		for _, e := range entries {
			if CheckName(e.Name) != nil || e.Role.Grants() == (Grants{}) || e.Grants != e.Role.Grants() {
				t.Fatalf("%+v", e.Credential)
			}
		}
		again, err := encodeEntries(entries)
		if err != nil {
			return // a time outside RFC 3339
		}
		if back, err := decodeEntries(again); err != nil || len(back) != len(entries) {
			t.Fatalf("%v\n%s", err, again)
		}
	})
}

package app

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var updatePlay = os.Getenv("ASKBACK_UPDATE_PLAY") != ""

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// elsewhere are machines that a script may run on.
var elsewhere = [][]string{{"TZ=Asia/Kolkata", "LANG=C.UTF-8"}, {"LC_ALL=C", "LANG=C", "NO_COLOR=1", "TERM=dumb", "ASKBACK_ACCESSIBLE=1", "SSH_TTY=x"}}

// The deploy journey has the same frames in every run. ASKBACK_PLAY_RUNS says how many there are.
func TestPlayDeploy(t *testing.T) {
	script, err := filepath.Abs("testdata/play/deploy.play")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	if updatePlay {
		if r := w.run("play", script, "--update"); r.code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	runs := 2
	if n, err := strconv.Atoi(os.Getenv("ASKBACK_PLAY_RUNS")); err == nil {
		runs = n
	}
	for i := range runs {
		cmd := w.command("play", script)
		cmd.Env = append(cmd.Env, elsewhere[i%len(elsewhere)]...)
		if r := w.wait(cmd); r.code != 0 {
			t.Fatalf("run %d: exit %d\n%s", i+1, r.code, r.stderr)
		}
	}
}

// A changed label makes a script fail, with the rows that differ.
func TestPlayMismatchIsReadable(t *testing.T) {
	w := newWorld(t)
	script := w.path("deploy.play")
	copyTo(t, "testdata/play/deploy.play", script)
	frames, err := filepath.Glob("testdata/play/deploy/*.txt")
	if err != nil || len(frames) == 0 {
		t.Fatalf("no frames: %v", err)
	}
	for _, f := range frames {
		copyTo(t, f, filepath.Join(w.path("deploy"), filepath.Base(f)))
	}
	form := filepath.Join(w.path("deploy"), "form.txt")
	data, err := os.ReadFile(form)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(form, []byte(strings.Replace(string(data), "( ) production", "( ) moon", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.run("play", script)
	if r.code != 1 || !strings.Contains(r.stderr, " - ▌   ( ) moon\n + ▌   ( ) production") || !strings.Contains(r.stderr, "line 8") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
}

// The example is what it says: a server, a script, frames.
func TestExampleGreeter(t *testing.T) {
	script, err := filepath.Abs("../../examples/greeter/greet.play")
	if err != nil {
		t.Fatal(err)
	}
	cmd := newWorld(t).command("play", script)
	for _, kv := range os.Environ() { // the toolchain's folders
		if strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "GO") || strings.HasPrefix(kv, "XDG_CACHE") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	// The script waits 20 s for its server, and a cold cache takes longer to build it.
	build := exec.Command("go", "build", "-o", os.DevNull, ".")
	build.Dir = filepath.Dir(script)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newWorld(t)
	if r := w.wait(cmd); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
}

// Editors and checkouts give a script and its frames a byte order mark and other ends of lines.
func TestPlayOfAnotherSystem(t *testing.T) {
	w := newWorld(t)
	script := w.write("home.play", "run demo\nwait \"servers 1/1\"\nsnapshot home\nkey ctrl+q\nexpect-exit 0\n")
	if r := w.run("play", script, "--update"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	frame := filepath.Join(w.path("home"), "home.txt")
	for name, c := range map[string]struct{ file, before, lineEnd, after string }{
		"a mark":            {script, "\ufeff", "\r\n", "\r\n"},
		"other line ends":   {frame, "", "\r\n", "\r\n"},
		"no last line end":  {frame, "", "\n", ""},
		"blanks at the end": {frame, "", "  \n", " \n\n"},
	} {
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		other := c.before + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", c.lineEnd) + c.after
		if err := os.WriteFile(c.file, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := w.run("play", script); r.code != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		if err := os.WriteFile(c.file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A signal ends a script like any other command.
func TestPlaySignal(t *testing.T) {
	w := newWorld(t)
	cmd := w.command("play", "--update", w.write("x.play", "run demo\nwait \"servers 1/1\"\nsnapshot home\nwait never"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for started := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(w.path("x/home.txt")); err == nil {
			break
		}
		if time.Since(started) > 20*time.Second {
			t.Fatal("the script does not get to its frame")
		}
	}
	cmd.Process.Signal(os.Interrupt)
	if r := w.finish(cmd, &out, &errs); r.code != exitStopped || !strings.Contains(r.stderr, "line 4") {
		t.Errorf("%+v", r)
	}
}

func TestPlayErrors(t *testing.T) {
	w := newWorld(t)
	for script, want := range map[string]string{
		"fly":                            "is no command",
		"snapshot x":                     "before run",
		"run demo\nsnapshot x":           "no golden frame",
		"run demo\nrun demo":             "running already",
		"run --config gone.json\nwait x": "ended",
	} {
		r := w.run("play", w.write("x.play", script))
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: %+v", script, r)
		}
	}
}

package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"

	"askback/internal/screen"
	"askback/tui"
)

// DefaultPatience bounds each wait of a script in real time: a script that waits for what never comes fails.
const DefaultPatience = 20 * time.Second

// Options say how a script is run.
type Options struct {
	// Start runs the program with the arguments of a run line and these terminal options until it ends, and
	// returns its exit code.
	Start func(ctx context.Context, args []string, o tui.Options, clock *Clock) int
	// Golden is the folder of the golden frames.
	Golden string
	// Update writes the golden frames instead of comparing them.
	Update bool
	// Patience bounds each wait; 0 is DefaultPatience.
	Patience time.Duration
}

// Mismatch is a frame that is not the golden one.
type Mismatch struct {
	Line int
	File string
	Diff string
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("line %d: the screen is not %s\n%s", m.Line, m.File, m.Diff)
}

// StepError is a step that could not be done.
type StepError struct {
	Line int
	Err  error
}

func (e *StepError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *StepError) Unwrap() error { return e.Err }

// Run plays a script. It compares every snapshot, also after a mismatch, and returns all errors joined; any other
// failure ends it at once.
func Run(ctx context.Context, steps []Step, o Options) error {
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	p := &player{o: o, clock: NewClock(), width: 80, height: 24, woken: make(chan struct{}, 1)}
	defer p.stop()
	var mismatches []error
	for _, s := range steps {
		err := p.step(ctx, s)
		if m, ok := errors.AsType[*Mismatch](err); ok {
			mismatches = append(mismatches, m)
			continue
		}
		if err != nil {
			return errors.Join(append(mismatches, &StepError{s.Line, err})...)
		}
	}
	return errors.Join(mismatches...)
}

// player holds the program that a script runs: one at a time.
type player struct {
	o             Options
	clock         *Clock
	width, height int

	screen *screen.Screen
	input  *io.PipeWriter
	resize chan [2]int
	cancel context.CancelFunc
	ended  chan struct{} // closed when the program has ended
	exit   int           // once ended is closed

	mu    sync.Mutex
	seen  tui.Watched
	woken chan struct{}
}

func (p *player) step(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.Patience, fmt.Errorf("nothing came of it within %v", p.o.Patience))
	defer cancel()
	switch s.Verb {
	case VerbRun:
		return p.run(s)
	case VerbSize:
		return p.size(ctx, s.Width, s.Height)
	case VerbExpectExit:
		return p.expectExit(ctx, s.Exit)
	}
	if p.ended == nil {
		return fmt.Errorf("%s before run: no program is running", s.Verb)
	}
	switch s.Verb {
	case VerbType, VerbKey, VerbPaste:
		p.rest(ctx)
	}
	switch s.Verb {
	case VerbType:
		return p.typeText(ctx, s.Text)
	case VerbKey:
		for _, k := range s.Keys {
			seq, _ := encode(k)
			if err := p.send(ctx, seq); err != nil {
				return err
			}
		}
	case VerbPaste:
		return p.send(ctx, bracketed(s.Text))
	case VerbWait:
		if s.Duration > 0 {
			// What was typed before belongs to the time before.
			if err := p.settle(ctx); err != nil {
				return err
			}
			p.clock.Move(s.Duration)
			return p.settle(ctx)
		}
		return p.waitText(ctx, s.Text)
	case VerbWaitForm:
		return p.await(ctx, "a form", func(w tui.Watched) bool { return w.Form })
	case VerbSnapshot:
		return p.snapshot(ctx, s)
	}
	return nil
}

func (p *player) run(s Step) error {
	if p.ended != nil {
		select {
		case <-p.ended:
			p.stop()
		default:
			return errors.New("run: a program is running already")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	in, w := io.Pipe()
	p.screen, p.input, p.cancel = screen.New(p.width, p.height), w, cancel
	p.resize, p.ended = make(chan [2]int), make(chan struct{})
	o := tui.Options{
		Terminal: &tui.Terminal{Input: in, Output: p.screen, Width: p.width, Height: p.height, Resize: p.resize},
		Clock:    p.clock,
		Watch:    p.watch,
	}
	go func() { // ends when the program does, at the latest after stop
		defer close(p.ended)
		p.exit = p.o.Start(ctx, s.Args, o, p.clock)
		in.Close()
	}()
	return nil
}

// stop ends the program, if it still runs, and waits for it.
func (p *player) stop() {
	if p.ended == nil {
		return
	}
	p.cancel()
	p.input.Close()
	<-p.ended
	p.screen.Close()
	p.ended = nil
}

func (p *player) watch(w tui.Watched) {
	p.mu.Lock()
	p.seen = w
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *player) watched() tui.Watched {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// await waits until ok holds for what the program last told.
func (p *player) await(ctx context.Context, what string, ok func(tui.Watched) bool) error {
	for !ok(p.watched()) {
		select {
		case <-p.woken:
		case <-p.ended:
			return fmt.Errorf("the program ended (exit code %d) while waiting for %s", p.exit, what)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the screen is:\n%s", what, context.Cause(ctx), p.screen.Text())
		}
	}
	return nil
}

// waitText waits for a text on the screen, as long as there is a program that could show it.
func (p *player) waitText(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := p.ended
	go func() { // ends with ctx
		select {
		case <-ended:
			cancel(fmt.Errorf("the program ended (exit code %d)", p.exit))
		case <-ctx.Done():
		}
	}()
	return p.screen.WaitText(ctx, text)
}

// restTime is how long keys wait for a program that is busy. A script may press keys while a tool runs; everything else
// is over long before.
const restTime = 3 * time.Second

// rest gives the program the time to finish what the keys before have begun, as a person would.
func (p *player) rest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, restTime)
	defer cancel()
	p.still(ctx, 20*time.Millisecond)
}

// typeText sends a text character by character, as fingers do: what comes at once is taken for a paste or for an
// input method.
func (p *player) typeText(ctx context.Context, text string) error {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		if err := p.send(ctx, strings.ReplaceAll(g.Str(), "\n", "\r")); err != nil {
			return err
		}
	}
	return nil
}

// send writes one key and returns when the program has taken it.
func (p *player) send(ctx context.Context, seq string) error {
	taken := make(chan error, 1)
	go func() { // ends with the write, which the end of the program ends
		_, err := io.WriteString(p.input, seq)
		taken <- err
	}()
	select {
	case err := <-taken:
		if err != nil {
			return fmt.Errorf("the program has ended (exit code %d)", p.exit)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the program does not read its keys: %w", context.Cause(ctx))
	}
}

func (p *player) size(ctx context.Context, w, h int) error {
	p.width, p.height = w, h
	if p.ended == nil {
		return nil
	}
	p.screen.Resize(w, h)
	select {
	case p.resize <- [2]int{w, h}:
		return nil
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits until nothing is in flight and the screen shows the program's last frame. A key that was sent
// shortly before may still be on its way, so what holds must hold a moment later, too.
func (p *player) settle(ctx context.Context) error {
	err := p.still(ctx, 80*time.Millisecond)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the program does not come to rest: %w; the screen is:\n%s", context.Cause(ctx), p.screen.Text())
	}
	return err
}

// still waits until the program was at rest for some time.
func (p *player) still(ctx context.Context, want time.Duration) error {
	const step = 10 * time.Millisecond
	for quiet := time.Duration(0); quiet < want; {
		now := p.watched()
		if now.Frame != "" && !now.Busy && plain(now.Frame) == p.screen.Text() {
			quiet += step
		} else {
			quiet = 0
		}
		select {
		case <-time.After(step):
		case <-p.ended:
			return fmt.Errorf("the program ended (exit code %d)", p.exit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// plain is a frame as a screen shows it, without attributes.
func plain(frame string) string { return trimmed(ansi.Strip(frame)) }

// trimmed is a text without blanks at the ends of its rows and without empty rows at its end.
func trimmed(text string) string {
	rows := strings.Split(text, "\n")
	for i, r := range rows {
		rows[i] = strings.TrimRight(r, " \r")
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	if len(rows) == 0 {
		return ""
	}
	return strings.Join(rows, "\n") + "\n"
}

func (p *player) snapshot(ctx context.Context, s Step) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	got := p.screen.Text()
	file := filepath.Join(p.o.Golden, s.Text+".txt")
	if p.o.Update {
		if err := os.MkdirAll(p.o.Golden, 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(got), 0o644)
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no golden frame %s; write it with --update", file)
	}
	if err != nil {
		return err
	}
	// A checkout or an editor may have given the file other line ends, blanks at the ends of rows, or no line end at all.
	if frame := trimmed(string(want)); frame != got {
		return &Mismatch{s.Line, file, diff(frame, got)}
	}
	return nil
}

func (p *player) expectExit(ctx context.Context, code int) error {
	if p.ended == nil {
		return errors.New("expect-exit before run: no program was run")
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		return fmt.Errorf("the program does not end: %w; the screen is:\n%s", context.Cause(ctx), p.screen.Text())
	}
	if p.exit != code {
		return fmt.Errorf("the exit code is %d, and %d was expected", p.exit, code)
	}
	return nil
}

// diff shows two frames row by row, the rows that differ twice.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		w, g := row(a, i), row(b, i)
		if w == g {
			fmt.Fprintf(&out, "   %s\n", w)
			continue
		}
		fmt.Fprintf(&out, " - %s\n + %s\n", w, g)
	}
	return strings.TrimRight(out.String(), " \n")
}

func row(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return ""
}

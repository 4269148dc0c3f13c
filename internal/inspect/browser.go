package inspect

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// browserTime is how long a browser command may take to say that it failed. One that still runs then is open.
const browserTime = 3 * time.Second

// ErrNoBrowser says that $BROWSER names no program: the person opens the address themselves.
var ErrNoBrowser = errors.New("no browser is named by $BROWSER")

// Browser is the value of $BROWSER: commands separated by colons, tried in their order, of words separated by blanks,
// with %s for the address or the address as the last word. Quotes hold a word together. No shell reads it.
type Browser string

// commands are the argument lists that would be run for an address.
func (b Browser) commands(address string) [][]string {
	var out [][]string
	for _, args := range b.words() {
		if len(args) == 0 || args[0] == "" {
			continue
		}
		placed := false
		for i, a := range args {
			if i > 0 && strings.Contains(a, "%s") {
				args[i], placed = strings.ReplaceAll(a, "%s", address), true
			}
		}
		if !placed {
			args = append(args, address)
		}
		out = append(out, args)
	}
	return out
}

// words are the words of each command. A quote that nothing closes is a letter like any other.
func (b Browser) words() [][]string {
	all, word, begun := [][]string{nil}, "", false
	end := func() {
		if begun {
			all[len(all)-1] = append(all[len(all)-1], word)
		}
		word, begun = "", false
	}
	for s := string(b); s != ""; {
		c := s[:1]
		s = s[1:]
		switch c {
		case ":":
			end()
			all = append(all, nil)
			continue
		case " ", "\t", "\n":
			end()
			continue
		case `"`, "'":
			if inner, rest, closed := strings.Cut(s, c); closed {
				c, s = inner, rest
			}
		}
		word, begun = word+c, true
	}
	end()
	return all
}

// Open runs the browser on an address that a person agreed to open. It returns when the command has succeeded or has
// run for a while; that a page was seen, nobody can say. The command goes on when ctx ends, it is the person's.
func (b Browser) Open(ctx context.Context, a Address) error {
	if a.Refused != "" {
		return errors.New(a.Refused)
	}
	err := ErrNoBrowser
	for _, args := range b.commands(a.Text) {
		if err = run(ctx, args); err == nil {
			return nil
		}
	}
	return err
}

func run(ctx context.Context, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("$BROWSER cannot be run: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the browser, which is not ours to end
	late := time.NewTimer(browserTime)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	case <-late.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The README and the pages name only what there is: files, commands, flags, tests, packages and variables.
func TestPagesNameWhatThereIs(t *testing.T) {
	b := newBook(t)
	pages, err := filepath.Glob(filepath.Join(b.root, "docs", "*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, filepath.Join(b.root, "README.md")) {
		name, err := filepath.Rel(b.root, page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range b.check(filepath.Dir(name), string(text)) {
				t.Error(wrong)
			}
			if lines := strings.Count(string(text), "\n"); name == "README.md" && lines > 200 {
				t.Errorf("%d lines; 200 are enough to begin with", lines)
			}
		})
	}
}

// What the check finds, and what it leaves alone.
func TestPageCheck(t *testing.T) {
	b := newBook(t)
	for text, want := range map[string]string{
		"see [it](../docs/forms.md) and [that](#a-b)\n## A, b":         "",
		"[gone](../docs/gone.md)":                                      "docs/gone.md",
		"[gone](../docs/forms.md#no-such-part)":                        "no-such-part",
		"`tui/testdata` and `internal/nothing`":                        "internal/nothing",
		"    askback call a/b --set x=y --json\n":                      "",
		"    askback call a/b --sett x=y\n":                            "--sett",
		"    $ askback launch\n":                                       "askback launch",
		"`askback host token add me --role provider`":                  "",
		"`askback host token add me --rôle`, `askback host toke`":      "askback host toke",
		"`--json` and `--no-such-flag FILE`":                           "--no-such-flag",
		"`go test ./...`, `go test -run TestPageCheck ./internal/app`": "",
		"`go test -run NoSuchTest ./internal/app`":                     "NoSuchTest",
		"`go test -bench . ./nowhere`":                                 "./nowhere",
		"`ASKBACK_KILL_ROUNDS=3 go test ./host`":                       "",
		"`ASKBACK_NO_SUCH=3 go test ./host`":                           "nobody reads",
		"`TestPageCheck` is there":                                     "",
		"`TestOfNothing` is not":                                       "TestOfNothing",
	} {
		got := b.check("docs", text)
		if want == "" && len(got) > 0 || want != "" && !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// book knows what pages may name.
type book struct {
	root     string
	flags    map[string]bool     // of any command
	tests    map[string][]string // by folder
	anywhere map[string]bool     // every test, benchmark and fuzz target
	source   string              // of all Go files, for variables of the environment
}

func newBook(t *testing.T) *book {
	t.Helper()
	b := &book{root: filepath.Join("..", ".."), flags: map[string]bool{"--help": true}, tests: map[string][]string{}, anywhere: map[string]bool{}}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, name := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(c.Flags().FlagUsages()+c.PersistentFlags().FlagUsages(), -1) {
			b.flags[name] = true
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(b.program())
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	var source strings.Builder
	err := filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source.Write(text)
		dir, err := filepath.Rel(b.root, filepath.Dir(path))
		if err != nil {
			return err
		}
		b.tests[dir] = b.tests[dir] // a package, also without tests
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			b.tests[dir] = append(b.tests[dir], m[1])
			b.anywhere[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.source = source.String()
	return b
}

func (b *book) program() *cobra.Command {
	return newRoot(&env{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}, getenv: func(string) string { return "" }})
}

var (
	pageLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageCode   = regexp.MustCompile("`([^`\n]+)`")
	pageFlag   = regexp.MustCompile(`^--[a-z][a-z-]*`)
	pageTest   = regexp.MustCompile(`^(Test|Benchmark|Fuzz)[A-Z]\w*$`)
	pagePath   = regexp.MustCompile(`^[a-z.][\w./-]*/[\w./-]*$`)
	pageAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// check returns what is wrong with a page that stands in a folder of the repository.
func (b *book) check(folder, text string) []string {
	var wrong []string
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		wrong = append(wrong, b.link(folder, m[1], text)...)
	}
	for _, code := range snippets(text) {
		wrong = append(wrong, b.code(code)...)
	}
	return wrong
}

func (b *book) link(folder, target, text string) []string {
	if strings.Contains(target, "://") {
		return nil
	}
	path, anchor, _ := strings.Cut(target, "#")
	if path != "" {
		data, err := os.ReadFile(filepath.Join(b.root, folder, path))
		if info, serr := os.Stat(filepath.Join(b.root, folder, path)); serr != nil {
			return []string{fmt.Sprintf("the link to %s leads nowhere", target)}
		} else if info.IsDir() {
			return nil
		} else if err != nil {
			return []string{err.Error()}
		}
		text = string(data)
	}
	if anchor == "" {
		return nil
	}
	for l := range strings.Lines(text) {
		if title := strings.TrimLeft(l, "#"); title != l {
			if strings.ReplaceAll(pageAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-") == anchor {
				return nil
			}
		}
	}
	return []string{fmt.Sprintf("the link to %s: there is no part %q", target, anchor)}
}

// snippets are the lines of code of a page, those within a sentence and those set apart.
func snippets(text string) []string {
	var out []string
	fenced := false
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
			continue
		}
		if rest, indented := strings.CutPrefix(l, "    "); indented || fenced {
			rest, _, _ = strings.Cut(rest, "  #")
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(rest), "- run: "), "$ "))
			continue
		}
		for _, m := range pageCode.FindAllStringSubmatch(l, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

func (b *book) code(code string) []string {
	words := strings.Fields(code)
	var wrong []string
	for len(words) > 0 && strings.HasPrefix(words[0], "ASKBACK_") {
		if name, _, _ := strings.Cut(words[0], "="); !strings.Contains(b.source, `"`+name+`"`) {
			wrong = append(wrong, fmt.Sprintf("%q: nobody reads %s", code, name))
		}
		words = words[1:]
	}
	switch {
	case len(words) == 0:
	case words[0] == "askback":
		wrong = append(wrong, b.command(code, words[1:])...)
	case words[0] == "go" && len(words) > 2 && words[1] == "test":
		wrong = append(wrong, b.goTest(code, words[2:])...)
	case strings.HasPrefix(words[0], "--"):
		if f := pageFlag.FindString(words[0]); f != "" && !b.flags[f] {
			wrong = append(wrong, fmt.Sprintf("%q: no command has %s", code, f))
		}
	case len(words) == 1 && pageTest.MatchString(code):
		if !b.anywhere[code] {
			wrong = append(wrong, fmt.Sprintf("there is no %s", code))
		}
	case len(words) == 1 && pagePath.MatchString(code):
		top, _, _ := strings.Cut(strings.TrimPrefix(code, "./"), "/")
		if _, err := os.Stat(filepath.Join(b.root, top)); err != nil || top == "" {
			break // not a path of ours
		}
		if _, err := os.Stat(filepath.Join(b.root, code)); err != nil {
			wrong = append(wrong, fmt.Sprintf("there is no %s", code))
		}
	}
	return wrong
}

func (b *book) command(code string, words []string) []string {
	if end := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"|", "&&", ";", "&", ">", "<", "--"}, w) }); end >= 0 {
		words = words[:end]
	}
	cmd := b.program()
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd("")
	for len(words) > 0 {
		sub, _, err := cmd.Find(words[:1])
		if err != nil || sub == cmd {
			break
		}
		cmd, words = sub, words[1:]
	}
	var wrong []string
	if plain := len(words) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(words[0]); plain && cmd.HasSubCommands() {
		wrong = append(wrong, fmt.Sprintf("%q: there is no such command", code))
	}
	for _, w := range words {
		f := pageFlag.FindString(strings.TrimLeft(w, "["))
		if f == "" || f == "--help" {
			continue
		}
		if name := f[2:]; cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			wrong = append(wrong, fmt.Sprintf("%q: %s has no %s", code, cmd.CommandPath(), f))
		}
	}
	return wrong
}

// goTest checks the packages of a `go test`, and that what it runs is there.
func (b *book) goTest(code string, words []string) []string {
	var wrong, patterns, found []string
	for i, w := range words {
		if (w == "-run" || w == "-bench" || w == "-fuzz") && i+1 < len(words) {
			patterns = append(patterns, strings.Trim(words[i+1], `'"`))
		}
		dir, ok := strings.CutPrefix(w, "./")
		if !ok {
			continue
		}
		dir, all := strings.CutSuffix(strings.TrimSuffix(dir, "/"), "...")
		dir = strings.TrimSuffix(dir, "/")
		some := dir == "" && all
		for pkg, tests := range b.tests {
			if pkg == dir || all && strings.HasPrefix(pkg, dir) {
				some = true
				found = append(found, tests...)
			}
		}
		if !some {
			wrong = append(wrong, fmt.Sprintf("%q: there is no package %s", code, w))
		}
	}
	for _, p := range patterns {
		if p == "^$" || p == "." {
			continue
		}
		r, err := regexp.Compile(p)
		if err != nil || !slices.ContainsFunc(found, r.MatchString) {
			wrong = append(wrong, fmt.Sprintf("%q: nothing is named %s", code, p))
		}
	}
	return wrong
}

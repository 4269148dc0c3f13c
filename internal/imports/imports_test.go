package imports

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "askback/"

// helpers are small packages that any package may import; they import nothing of ours but one another.
var helpers = []string{"internal/strictjson", "internal/memnet", "internal/jsonschema", "internal/bginit", "internal/screen", "internal/toolschema", "internal/imports", "internal/atomicfile"}

// table says what a package and its sub-packages may import of this module, helpers and their own sub-packages
// apart. "*" is everything.
var table = map[string][]string{
	"forms":                {},
	"protocol":             {"forms"},
	"hostclient":           {"protocol", "forms"},
	"host":                 {"protocol", "forms"},
	"mcpmgr":               {"forms"},
	"provider":             {"forms", "hostclient"},
	"tui":                  {"forms", "hostclient", "protocol"}, // the last two in events.go alone, below
	"internal/demo":        {},
	"internal/lint":        {"forms"},
	"internal/conformance": {"mcpmgr", "forms"},
	"internal/inspect":     {"mcpmgr", "forms", "tui"},
	"internal/play":        {"*"},
	"internal/app":         {"*"},
	"internal/acceptance":  {"*"},
	"internal/hostsuite":   {"*"},
	"internal/testhost39":  {"protocol", "forms"},
	"internal/interop":     {"*"},
	"internal/bridge":      {"mcpmgr", "provider", "forms"},
	"examples":             {},
	"":                     {"internal/app"},
}

// modules says which rows may import a module of others that has one place; what is not named here is free.
var modules = map[string][]string{
	"github.com/modelcontextprotocol/go-sdk":   {"mcpmgr", "internal/inspect", "internal/demo", "examples"},
	"golang.org/x/oauth2":                      {"mcpmgr"},
	"github.com/gorilla/websocket":             {"hostclient", "host", "internal/hostsuite", "internal/testhost39"},
	"go.etcd.io/bbolt":                         {"host"},
	"github.com/charmbracelet/bubbletea":       {"tui", "internal/inspect", "internal/play"},
	"github.com/charmbracelet/huh":             {"tui"},
	"github.com/charmbracelet/x/vt":            {"internal/screen"},
	"github.com/spf13/cobra":                   {"internal/app"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"internal/jsonschema"},
}

// pure packages import the standard library and what stands here.
var pure = map[string][]string{"forms": {"github.com/rivo/uniseg"}, "protocol": {"github.com/go-json-experiment/json"}}

type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", module+"...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, e.Stderr)
		}
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// owner is the row of the table that a package falls under, by its longest matching prefix.
func owner(pkg string) (string, bool) {
	for row := pkg; ; {
		if _, ok := table[row]; ok {
			return row, true
		}
		if slices.Contains(helpers, row) {
			return row, true
		}
		i := strings.LastIndexByte(row, '/')
		if i < 0 {
			return "", pkg == ""
		}
		row = row[:i]
	}
}

func within(imp, module string) bool { return imp == module || strings.HasPrefix(imp, module+"/") }

func moduleOf(imp string, rows map[string][]string) ([]string, bool) {
	for m, r := range rows {
		if within(imp, m) {
			return r, true
		}
	}
	return nil, false
}

func TestImportTable(t *testing.T) {
	for _, p := range packages(t) {
		pkg := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, strings.TrimSuffix(module, "/")), "/")
		row, ok := owner(pkg)
		if !ok {
			t.Errorf("%s stands in no row of the import table", pkg)
			continue
		}
		if pkg == "" && !slices.Contains(p.Imports, module+"internal/bginit") {
			t.Error("the program does not link internal/bginit: bubbletea would ask the terminal")
		}
		allowed := table[row]
		for _, imp := range p.Imports {
			ours, ok := strings.CutPrefix(imp, module)
			if !ok {
				if rows, ok := moduleOf(imp, modules); ok && !slices.Contains(rows, row) {
					t.Errorf("%s imports %s, which is for %v", pkg, imp, rows)
				}
				if few, ok := pure[row]; ok && strings.Contains(strings.Split(imp, "/")[0], ".") && !slices.ContainsFunc(few, func(m string) bool { return within(imp, m) }) {
					t.Errorf("%s imports %s; it is pure", pkg, imp)
				}
				continue
			}
			target, _ := owner(ours)
			if target == row || slices.Contains(allowed, "*") || slices.Contains(allowed, target) {
				continue
			}
			if slices.Contains(helpers, target) {
				continue
			}
			t.Errorf("%s imports %s; its row allows %v", pkg, ours, allowed)
		}
	}
}

// The terminal surface meets the wire in one file.
func TestOnlyEventsMeetsTheWire(t *testing.T) {
	for _, p := range packages(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		if pkg != "tui" && !strings.HasPrefix(pkg, "tui/") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path := strings.Trim(imp.Path.Value, `"`)
				if (path == module+"hostclient" || path == module+"protocol") && !(pkg == "tui" && name == "events.go") {
					t.Errorf("%s/%s imports %s", pkg, name, path)
				}
			}
		}
	}
}

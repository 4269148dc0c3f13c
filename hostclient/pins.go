package hostclient

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"askback/forms"
	"askback/internal/atomicfile"
)

// Pins remembers which Host (its rootId) answered at an address, in a file of mode 0600. Processes may share the file.
type Pins struct{ path string }

// PinFile is the pins kept in the file at path. The file and its folder are made when the first pin is.
func PinFile(path string) *Pins { return &Pins{path} }

type pinFile struct {
	Hosts map[string]string `json:"hosts"` // canonical address → rootId
}

// check pins root for an address that has no pin, and refuses a root that differs from the pin.
func (p *Pins) check(address, root string) *Error {
	if p == nil {
		return nil
	}
	var known string
	err := p.change(func(f *pinFile) bool {
		known = f.Hosts[address]
		if known != "" {
			return false
		}
		f.Hosts[address] = root
		return true
	})
	switch {
	case err != nil:
		return errorf(CodePinFile, "the file of known Hosts, %s, cannot be used: %v", p.path, err)
	case known != "" && known != root:
		return errorf(CodeRootChanged, "another Host answers at %s than before (known root %.12s…, now %.12s…); nothing was sent to it but the token. "+
			"If the Host was replaced on purpose, remove its entry from %s", address, forms.Line(known), forms.Line(root), p.path)
	}
	return nil
}

// Forget removes the pin of an address, written as for Options.URL.
func (p *Pins) Forget(address string) error {
	e, bad := parseEndpoint(address)
	if bad != nil {
		return bad
	}
	return p.change(func(f *pinFile) bool {
		_, known := f.Hosts[e.url]
		delete(f.Hosts, e.url)
		return known
	})
}

// change lets edit alter the pins under the file's lock, and writes them when it says so.
func (p *Pins) change(edit func(*pinFile) (write bool)) error {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(p.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	f := pinFile{}
	data, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.Hosts == nil {
		f.Hosts = map[string]string{}
	}
	if !edit(&f) {
		return nil
	}
	data, err = json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(p.path, append(data, '\n'))
}

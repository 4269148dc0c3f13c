package access

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"askback/internal/atomicfile"
)

const (
	fileVersion = 1
	maxFile     = 256 << 10
)

// entry is a credential and the hash that its token must have.
type entry struct {
	Credential
	hash digest
}

type fileForm struct {
	Version int         `json:"version"`
	Tokens  []tokenForm `json:"tokens"`
}

type tokenForm struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	SHA256    string    `json:"sha256"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

func encodeEntries(entries []entry) ([]byte, error) {
	f := fileForm{Version: fileVersion, Tokens: []tokenForm{}}
	for _, e := range entries {
		f.Tokens = append(f.Tokens, tokenForm{
			ID: e.ID, Name: e.Name, Role: string(e.Role), SHA256: hex.EncodeToString(e.hash[:]),
			CreatedAt: e.Created, ExpiresAt: e.Expires,
		})
	}
	b, err := json.Marshal(f, jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

// decodeEntries reads the file's text strictly: a file that says anything we do not understand grants nothing.
func decodeEntries(data []byte) ([]entry, error) {
	var f fileForm
	if err := json.Unmarshal(data, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not a token file: %w", err)
	}
	if f.Version != fileVersion {
		return nil, fmt.Errorf("version %d of the token file is not known, only %d", f.Version, fileVersion)
	}
	if len(f.Tokens) > MaxCredentials {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrFull, len(f.Tokens), MaxCredentials)
	}
	entries := make([]entry, 0, len(f.Tokens))
	for i, t := range f.Tokens {
		e, err := t.entry()
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		if slices.ContainsFunc(entries, func(o entry) bool { return o.Name == e.Name || o.ID == e.ID || o.hash == e.hash }) {
			return nil, fmt.Errorf("token %d: repeats the name, id or hash of another", i+1)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (t tokenForm) entry() (entry, error) {
	if err := CheckName(t.Name); err != nil {
		return entry{}, err
	}
	role, err := ParseRole(t.Role)
	if err != nil || t.Role == "" {
		return entry{}, fmt.Errorf("token %q: role %q is unknown", t.Name, t.Role)
	}
	id, err := hex.DecodeString(t.ID)
	if err != nil || len(id) != idBytes || hex.EncodeToString(id) != t.ID {
		return entry{}, fmt.Errorf("token %q: id is not %d lower-case hex digits", t.Name, 2*idBytes)
	}
	var h digest
	sum, err := hex.DecodeString(t.SHA256)
	if err != nil || copy(h[:], sum) != len(h) || len(sum) != len(h) {
		return entry{}, fmt.Errorf("token %q: sha256 is not %d hex digits", t.Name, 2*len(h))
	}
	return entry{Credential{
		ID: t.ID, Name: t.Name, Role: role, Grants: role.Grants(), Created: t.CreatedAt.UTC(), Expires: utc(t.ExpiresAt),
	}, h}, nil
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// readEntries reads the file at path. A missing file is an empty one.
func readEntries(path string) ([]entry, fs.FileInfo, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: not a regular file", path) // opening a pipe would wait for a writer
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxFile {
		return nil, nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	entries, err := decodeEntries(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, info, nil
}

// writeEntries replaces the file at path so that a reader sees the old text or the new, and a crash leaves one of them.
func writeEntries(path string, entries []entry) error {
	data, err := encodeEntries(entries)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, data); err != nil {
		return err
	}
	return syncDir(filepath.Dir(atomicfile.Target(path)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

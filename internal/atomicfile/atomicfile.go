// Package atomicfile replaces small private files whole.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Target is where a path leads: a file of ours may be a link to one on another disk, or to one that another program
// reads, and what is replaced or renamed is the file.
func Target(path string) string {
	for range 16 {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + string(filepath.Separator) + to // not cleaned: the folder may be a link itself
		}
		path = to
	}
	return path
}

// Write replaces the file that path leads to by one of mode 0600, so that a reader sees the old content or the new, never
// half of it. Who writes at the same time as others holds a lock of his own.
func Write(path string, data []byte) error {
	path = Target(path)
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

package hostclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"

	"askback/internal/atomicfile"
)

// maxInstances is how many processes of one user can hold an instance at once; far more than terminals on a desk.
const maxInstances = 1000

// Instance is a clientInstanceId that this process holds: the lasting identity by which a Host knows an installation
// again, so that a provider that comes back is the same provider.
type Instance struct {
	id   string
	lock *flock.Flock
}

type instanceFile struct {
	ClientInstanceID string `json:"clientInstanceId"`
}

// HoldInstance takes the lowest identity in stateDir/instances that no other process holds, and makes a new one where
// none is free. It is held until Release or the end of the process.
func HoldInstance(stateDir string) (*Instance, error) {
	dir := filepath.Join(stateDir, "instances")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for this client's identity cannot be made: %w", err)
	}
	for n := range maxInstances {
		path := filepath.Join(dir, strconv.Itoa(n)+".json")
		// The lock is its own file: the identity is replaced by renaming, and a lock on a replaced file guards nothing.
		lock := flock.New(path+".lock", flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("this client's identity cannot be locked: %w", err)
		}
		if !held {
			continue
		}
		id, err := loadInstance(path)
		if err != nil {
			lock.Close()
			return nil, fmt.Errorf("this client's identity cannot be kept: %w", err)
		}
		return &Instance{id: id, lock: lock}, nil
	}
	return nil, fmt.Errorf("all %d identities in %s are held", maxInstances, dir)
}

// loadInstance reads the identity, or makes one where there is none or it is unreadable (an identity is only worth
// something while it is whole, and a new one costs no more than a first start).
func loadInstance(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var f instanceFile
	if err == nil && json.Unmarshal(data, &f) == nil && f.ClientInstanceID != "" && len(f.ClientInstanceID) <= 128 {
		return f.ClientInstanceID, nil
	}
	f.ClientInstanceID = newID("askback-")
	data, err = json.Marshal(f)
	if err != nil {
		return "", err
	}
	return f.ClientInstanceID, atomicfile.Write(path, append(data, '\n'))
}

// ID is the clientInstanceId.
func (i *Instance) ID() string { return i.id }

// Release lets another process take the identity.
func (i *Instance) Release() error { return i.lock.Close() }

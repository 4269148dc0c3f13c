package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stateDir is where askback keeps what must survive: $XDG_STATE_HOME/askback. It is made with mode 0700.
func (g *globals) stateDir() (string, error) {
	base := g.env.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) { // the base directory specification ignores relative ones
		home := g.env.getenv("HOME")
		if home == "" {
			return "", usagef(errors.New("neither XDG_STATE_HOME nor HOME is set: there is no folder for askback's data"))
		}
		base = filepath.Join(home, ".local", "state")
	}
	dir := filepath.Join(base, "askback")
	return dir, ownFolder(dir)
}

// ownFolder makes a folder of ours, and one that is there already private.
func ownFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return usagef(fmt.Errorf("the folder for askback's data cannot be made: %w", err))
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // best effort: what is in it is private by itself
	}
	return nil
}

// configPath is the MCP servers file to read, and whether it is the project file ./.mcp.json, which has to be
// approved. The path is empty where there is none.
func (g *globals) configPath() (path string, project bool) {
	if g.config != "" {
		return g.config, false
	}
	if exists(".mcp.json") {
		return ".mcp.json", true
	}
	base := g.env.getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(g.env.getenv("HOME"), ".config")
	}
	if path = filepath.Join(base, "askback", "mcp.json"); exists(path) {
		return path, false
	}
	return "", false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

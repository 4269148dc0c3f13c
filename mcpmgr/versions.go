package mcpmgr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The protocol versions spoken here, newest first. Only the modern ones have rounds.
var (
	modernVersions = []string{"2026-07-28"}
	legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
)

// JSON-RPC error codes that only a modern server uses.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

func modernCode(code int64) bool { return code >= codeUnsupportedVersion && code <= codeHeaderMismatch }

// chooseVersion picks the newest version of ours that the server supports.
func chooseVersion(supported []string) (version string, era Era, ok bool) {
	for _, v := range modernVersions {
		if slices.Contains(supported, v) {
			return v, EraModern, true
		}
	}
	for _, v := range legacyVersions {
		if slices.Contains(supported, v) {
			return v, EraLegacy, true
		}
	}
	return "", "", false
}

// noCommonVersion names both lists, since one of the two programs has to be updated.
func noCommonVersion(supported []string) error {
	theirs := "none"
	if supported == nil {
		theirs = "none that it names"
	}
	if len(supported) > 0 {
		if len(supported) > 16 {
			supported = supported[:16]
		}
		theirs = clipText(strings.Join(supported, ", "), 200)
	}
	return &permanent{fmt.Errorf("no common protocol version: the server supports %s; askback supports %s",
		theirs, strings.Join(slices.Concat(modernVersions, legacyVersions), ", "))}
}

// permanent marks a failure that another attempt would only repeat.
type permanent struct{ err error }

func (e *permanent) Error() string { return e.err.Error() }
func (e *permanent) Unwrap() error { return e.err }

// stringList decodes a list of strings; anything else is no list.
func stringList(raw json.RawMessage) ([]string, bool) {
	els, err := elements(raw)
	if err != nil {
		return nil, false
	}
	out := make([]string, 0, len(els))
	for _, e := range els {
		s, ok := stringValue(e)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

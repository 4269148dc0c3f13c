package mcpmgr

import (
	"encoding/json"
	"errors"
	"strings"

	"askback/internal/jsonschema"
)

// checkOutput holds a structured result against the tool's outputSchema. What of a schema cannot
// be compiled is not checked, which is logged once for each definition.
func (m *Manager) checkOutput(e *toolEntry, value json.RawMessage) error {
	if m.opt.CheckOutput != nil {
		return m.opt.CheckOutput(e.OutputSchema, value)
	}
	if what := e.output.Unchecked(); what != nil {
		e.unchecked.Do(func() {
			m.log.Warn("an outputSchema is not checked whole", "server", e.Server, "tool", e.Name, "what", strings.Join(what, "; "))
		})
	}
	err := e.output.Check(value)
	if at, ok := errors.AsType[*jsonschema.Error](err); ok && at.Path == "" {
		return &jsonschema.Error{Path: "structuredContent", Message: at.Message}
	}
	return err
}

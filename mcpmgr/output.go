package mcpmgr

import (
	"encoding/json"
)

// checkOutput holds a structured result against the tool's outputSchema. A schema that cannot be
// compiled checks nothing, which is logged.
func (m *Manager) checkOutput(e *toolEntry, value json.RawMessage) error {
	if m.opt.CheckOutput == nil {
		return nil
	}
	return m.opt.CheckOutput(e.OutputSchema, value)
}

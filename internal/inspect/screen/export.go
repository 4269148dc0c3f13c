package screen

import (
	"bytes"
	"os"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"

	"askback/internal/inspect"
)

// export writes the messages that a filter lets through to a new file, which only the person can read.
func (m *Model) export(f inspect.Filter) tea.Cmd {
	var b bytes.Buffer
	if err := m.log.Export(&b, f, m.opt.Values); err != nil {
		m.notice = err.Error()
		return nil
	}
	name := filepath.Join(m.opt.Folder, "askback-inspect-"+m.now().Format("20060102-150405")+".jsonl")
	without := " without answers"
	if m.opt.Values {
		without = " with answers"
	}
	return func() tea.Msg {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return done{err: err}
		}
		_, err = file.Write(b.Bytes())
		if cerr := file.Close(); err == nil {
			err = cerr
		}
		return done{"exported to " + name + without, err}
	}
}

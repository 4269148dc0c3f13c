package screen

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/tui/theme"
)

// What a frame costs with a full Log behind it.
func BenchmarkFrame(b *testing.B) {
	ins := inspect.Open(inspect.Options{})
	defer ins.Close()
	m := newModel(b.Context(), Options{Theme: theme.New(theme.Attributes)}.withDefaults(), ins, nil)
	for i := range inspect.MaxMessages {
		m.log.Add(mcpmgr.TapEvent{Time: time.Unix(1, 0), Server: "s", Direction: mcpmgr.Sent, ID: fmt.Sprint(i), Method: "tools/call", Call: uint64(i + 1),
			Leg: 1, StateBytes: -1, Raw: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)})
	}
	for tab, name := range map[int]string{tabCalls: "calls", tabMessages: "messages"} {
		b.Run(name, func(b *testing.B) {
			m.tab = tab
			for b.Loop() {
				_ = m.View()
			}
		})
	}
}

package host_test

import "strings"

func contains(s, sub string) bool { return strings.Contains(s, sub) }

// askError returns the code of a refused request, "" when it was not refused.
func (p *peer) askError(op string, input any) string { return text(p.ask(op, input), "error", "code") }

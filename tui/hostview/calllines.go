package hostview

import "strings"

// CallLines puts each /call of a text on one line, as our Host reads it. People paste JSON that is laid out over several
// lines; a line break inside of a JSON string cannot be, so a line that begins no call belongs to the one before.
func CallLines(text string) string {
	if !strings.HasPrefix(text, "/call") {
		return text
	}
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(line); len(out) > 0 && !strings.HasPrefix(trimmed, "/call") {
			out[len(out)-1] = strings.TrimRight(out[len(out)-1]+" "+trimmed, " ")
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

package forms

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const ellipsis = "…"

// cutTo shortens s to at most limit bytes. What is cut ends with an ellipsis
// and on the border of a grapheme cluster; a first cluster that is too long by
// itself is cut between code points. A limit below the ellipsis gives nothing.
func cutTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	room := limit - len(ellipsis)
	if room < 0 {
		return ""
	}
	end := 0
	for rest, state := s, -1; end < room && rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > room {
			break
		}
		end += len(cluster)
	}
	if end == 0 {
		for end = room; end > 0 && !utf8.RuneStart(s[end]); {
			end--
		}
	}
	return s[:end] + ellipsis
}

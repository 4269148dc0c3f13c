package forms

import (
	"regexp"
	"strings"
)

// HasLink reports whether a text of the form holds something that reads as a
// link: a form may not send people elsewhere. A bare host name counts, but not
// in the requester, where it says on which machine the tool runs.
func HasLink(f Form) bool {
	if isLink(f.Message) || isFullLink(f.Requester.Name) || isFullLink(f.Requester.Source) {
		return true
	}
	for i := range f.Fields {
		if f.Fields[i].HasLink() {
			return true
		}
	}
	return false
}

// HasLink reports whether a text of the field holds something that reads as a
// link.
func (f Field) HasLink() bool {
	if isLink(f.Label) || isLink(f.Description) {
		return true
	}
	for _, o := range f.Options {
		if isLink(o.Label) || isLink(o.Description) {
			return true
		}
	}
	return false
}

// fullLink finds a scheme with something after it, www. and mailto:. bareLink
// finds a host name that is followed by a path or ends in one of the three
// oldest domains; after an @ it is an address, not a link.
var (
	fullLink = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S|\bwww\.[a-z0-9-]|\bmailto:\S`)
	bareLink = regexp.MustCompile(`(?i)(^|[^@a-z0-9.-])([a-z0-9-]+\.)+([a-z]{2,}/\S|(com|net|org)\b)`)
)

func isLink(s string) bool {
	return isFullLink(s) || mayLink(s) && bareLink.MatchString(visible(s))
}

func isFullLink(s string) bool { return mayLink(s) && fullLink.MatchString(visible(s)) }

// mayLink is a quick no for most texts, which hold no dot and no colon.
func mayLink(s string) bool { return strings.ContainsAny(s, ".:．：") }

package forms

import (
	"regexp"
	"strings"
	"unicode"
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
// link. A default does so only with all that makes an address of it, since a
// host name may well be the answer, and never where a URI is asked for.
func (f Field) HasLink() bool {
	if isLink(f.Label) || isLink(f.Description) {
		return true
	}
	if f.Kind == KindString && f.Format != FormatURI && isFullLink(f.Default.text) {
		return true
	}
	for _, o := range f.Options {
		if isLink(o.Label) || isLink(o.Description) {
			return true
		}
	}
	return false
}

// fullLink finds a scheme with something after it, www., and the schemes that
// do without slashes.
var fullLink = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S|\bwww\.[a-z0-9-]|\b(mailto|javascript|vbscript):\S|` +
	`\bdata:([a-z]+/[a-z]|[;,])|\b(tel|sms):[+(]?[0-9]`)

// What goes before a bare link, which is no part of a longer word; after an @ it
// is an address.
const beforeLink = `(?i)(?:^|[^@a-z0-9.-])`

// hostLink finds a host that only has a number or is this machine, with a path;
// what follows the slash of 10.0.0.0/8 is none.
var hostLink = regexp.MustCompile(beforeLink + `(?:localhost|(?:\d{1,3}\.){3}\d{1,3})(?::\d{1,5}/\S|/[^\s\d])`)

// bareLink finds a host name that is followed by a path, or ends in one of the
// three oldest domains or another that is well known and no ending of files, as
// md, sh and py are, nor a word that a sentence begins with, as it and at are.
var bareLink = regexp.MustCompile(beforeLink + `((?:[a-z0-9-]+\.)+(?:[a-z]{2,}(?:/\S|:\d{2,5}/[^\s\d])|(?:com|net|org)\b|` +
	`(?:de|eu|uk|fr|ch|nl|ru|cn|jp|io|co|biz|edu|gov)(?:$|[^a-z0-9_.]|\.(?:$|[^a-z0-9]))))`)

// notHosts end like hosts, and are known as something else.
var notHosts = regexp.MustCompile(`(?i)^(?:(?:config|java|system|std)\.io|(?:asp|vb|system)\.net)(?:$|[^a-z0-9/:.-]|\.(?:$|[^a-z0-9]))`)

func isLink(s string) bool {
	if !mayLink(s) {
		return false
	}
	s = visible(s)
	return fullLink.MatchString(s) || hostLink.MatchString(s) || isBareLink(s)
}

func isFullLink(s string) bool { return mayLink(s) && fullLink.MatchString(visible(s)) }

func isBareLink(s string) bool {
	for {
		at := bareLink.FindStringSubmatchIndex(s)
		if at == nil {
			return false
		}
		if s = s[at[2]:]; !notHosts.MatchString(s) {
			return true
		}
		// What follows may be a host, with what ends this one before it.
		s = strings.TrimLeftFunc(s, func(r rune) bool { return r == '.' || unicode.IsLetter(r) })
	}
}

// mayLink is a quick no for most texts, which hold nothing that a link needs.
func mayLink(s string) bool { return strings.ContainsAny(s, ".:/．：／。｡") }

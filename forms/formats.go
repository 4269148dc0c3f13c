package forms

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

func (f Format) known() bool {
	switch f {
	case FormatEmail, FormatURI, FormatDate, FormatDateTime:
		return true
	}
	return false
}

// check says why s is not of the format, in words that follow the field's
// name; it is empty when s is, and for no or an unknown format. No format
// admits a line break, at the end or elsewhere.
func (f Format) check(s string) string {
	switch f {
	case FormatEmail:
		if !isEmail(s) {
			if r := foreign(s, ""); r != 0 {
				return fmt.Sprintf("holds %s; an e-mail address is plain ASCII, with such a host as xn--…", quoteName(string(r)))
			}
			return "must be a bare e-mail address such as name@example.org"
		}
	case FormatURI:
		if !isURI(s) {
			if r := foreign(s, uriSigns+"%"); r != 0 && hasScheme(s) {
				if why := escapeFor(r, s); why != "" {
					return why
				}
			}
			return "must be a full address with its scheme, such as https://example.org/x"
		}
	case FormatDate:
		if !isDate(s) {
			return "must be a calendar date such as 2026-01-31"
		}
	case FormatDateTime:
		if !isDateTime(s) {
			if isDateTime(s + "Z") {
				return "has no zone; end it with Z, or with an offset such as +02:00"
			}
			if why := wrongMoment(s); why != "" {
				return why
			}
			return "must be a date and time with a zone, such as 2026-01-31T09:30:00Z"
		}
	}
	return ""
}

// foreign is the first printable character of s that is not among letters, digits
// and signs; with no signs, the first that is not ASCII; 0 where there is none.
func foreign(s, signs string) rune {
	for _, r := range s {
		switch {
		case r == utf8.RuneError || !unicode.IsPrint(r):
		case r > 0x7f:
			return r
		case signs != "" && !isLetter(byte(r)) && !isDigit(byte(r)) && !strings.ContainsRune(signs, r):
			return r
		}
	}
	return 0
}

// escapeFor says how the first r of an address is written; it is empty where r is in a host that has no such name.
func escapeFor(r rune, address string) string {
	_, rest, slashes := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	inHost := slashes && strings.ContainsRune(rest[:end], r)
	switch {
	case !inHost:
		return fmt.Sprintf("holds %s; write it as %s", quoteName(string(r)), url.PathEscape(string(r)))
	case r > 0x7f:
		return fmt.Sprintf("holds %s; write such a host as xn--…", quoteName(string(r)))
	}
	return ""
}

func hasScheme(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	return ok && rest != "" && scheme != "" && foreign(scheme, "+-.") == 0
}

// wrongMoment says what is wrong with a text that is written as a date and time
// and names none, such as a leap second.
func wrongMoment(s string) string {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) || !sameShape(s[:len(shape)], shape) {
		return ""
	}
	if !isDate(s[:10]) {
		return "names a day that is not in the calendar"
	}
	if moved := s[:11] + "00:00:00" + s[19:]; isDateTime(moved) {
		return "names a time that is not on the clock: hours to 23, minutes and seconds to 59"
	}
	return ""
}

// sameShape reports whether s has digits and signs where shape has them.
func sameShape(s, shape string) bool {
	for i := range len(shape) {
		if c := s[i]; isDigit(shape[i]) != isDigit(c) || !isDigit(c) && c|0x20 != shape[i]|0x20 {
			return false
		}
	}
	return true
}

// lengths are the shortest and the longest length of a text of the format, in
// code points; longest is maxValueRunes where there is no other bound.
func (f Format) lengths() (shortest, longest int) {
	switch f {
	case FormatEmail:
		return len("a@b.c"), maxEmail
	case FormatURI:
		return len("a:b"), maxValueRunes
	case FormatDate:
		return len("2006-01-02"), len("2006-01-02")
	case FormatDateTime:
		return len("2006-01-02T15:04:05Z"), maxValueRunes
	}
	return 0, maxValueRunes
}

// possible reports whether some text of the format has a length from least to
// most.
func (f Format) possible(least, most int) bool {
	shortest, longest := f.lengths()
	least, most = max(least, shortest), min(most, longest)
	if f == FormatDateTime && least == most && least == len("2006-01-02T15:04:05Z")+1 {
		return false // a fraction is two characters or more, an offset six
	}
	return least <= most
}

const maxEmail = 254

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// isEmail: an ASCII dot-atom of at most 64, @, host labels of letters, digits
// and hyphens with at least one dot, 254 in all.
func isEmail(s string) bool {
	local, host, ok := strings.Cut(s, "@")
	if !ok || len(s) > maxEmail || len(local) > 64 || len(host) > 253 {
		return false
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" {
			return false
		}
		for i := range len(atom) {
			if c := atom[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
				return false
			}
		}
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !isHostLabel(label) {
			return false
		}
	}
	return len(labels) >= 2
}

func isHostLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

// isURI: absolute, a scheme and something after it, the characters of RFC 3986
// only, and well-formed for net/url too.
func isURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("+-.", c) < 0 {
			return false
		}
	}
	path := rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		path = after[end:]
		if after == "" || !isAuthority(after[:end]) {
			return false
		}
	}
	if rest == "" || strings.ContainsAny(path, "[]") || strings.Count(path, "#") > 1 || !isURIText(rest) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}

// isAuthority reports whether s is [userinfo@]host[:port]: one @ at most, a host
// that is an IPv6 address in brackets or has neither brackets nor a colon, and
// a port of digits.
func isAuthority(s string) bool {
	user, host, ok := strings.Cut(s, "@")
	if !ok {
		user, host = "", s
	}
	if strings.ContainsAny(user, "[]") || strings.Contains(host, "@") {
		return false
	}
	name, port, _ := strings.Cut(host, ":")
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, port, ok = strings.Cut(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" || port != "" && port[0] != ':' {
			return false
		}
		name, port = "", strings.TrimPrefix(port, ":")
	}
	_, ok = digits(port)
	return ok && !strings.ContainsAny(name, "[]")
}

// uriSigns are what an address holds beside letters, digits and percent escapes.
const uriSigns = "-._~:/?#[]@!$&'()*+,;="

// isURIText reports whether s holds characters of RFC 3986 only, with whole
// percent escapes.
func isURIText(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case isLetter(c), isDigit(c), strings.IndexByte(uriSigns, c) >= 0:
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isDate: a real calendar day, YYYY-MM-DD.
func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:])
	return ok1 && ok2 && ok3 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// isDateTime: RFC 3339 with an offset; hour to 23, minute and second to 59, so
// no leap second.
func isDateTime(s string) bool {
	if len(s) < 20 || !isDate(s[:10]) || s[10]|0x20 != 't' || !isClock(s[11:16]) || s[16] != ':' {
		return false
	}
	if second, ok := digits(s[17:19]); !ok || second > 59 {
		return false
	}
	rest := s[19:]
	if rest[0] == '.' {
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n == 1 {
			return false
		}
		rest = rest[n:]
	}
	if rest == "Z" || rest == "z" {
		return true
	}
	return len(rest) == 6 && (rest[0] == '+' || rest[0] == '-') && isClock(rest[1:])
}

// isClock: HH:MM.
func isClock(s string) bool {
	hour, ok1 := digits(s[:2])
	minute, ok2 := digits(s[3:5])
	return ok1 && ok2 && s[2] == ':' && hour <= 23 && minute <= 59
}

// digits is the value of a text of digits only.
func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

package inspect

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"askback/forms"
)

// Address is a web address that a server asks a person to visit, as it must be shown: with the host that would really
// be talked to. Nothing is looked up and nothing is fetched to make one.
type Address struct {
	Text string // whole and unchanged
	// Host is where a browser would go, in ASCII, without the port.
	Host string
	Port string // "" for the scheme's own
	// From and To bound the host and its port within Text.
	From, To int
	Warnings []string
	// Refused says why the address must not be opened; "" when it may be, once the person agrees.
	Refused string
}

// ReadAddress takes a web address apart.
func ReadAddress(s string) Address {
	a := Address{Text: s, From: len(s), To: len(s)}
	u, err := url.Parse(s)
	switch {
	case err == nil && u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http":
		a.Refused = fmt.Sprintf("only https is opened, not %s", u.Scheme)
		return a
	case err != nil || u.Scheme == "" || u.Hostname() == "" || u.Opaque != "":
		a.Refused = "this is no web address"
		return a
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }) {
		a.Refused = "the address holds blanks or backslashes, which programs read differently"
		return a
	}
	a.locate(u)
	a.Host, a.Port = u.Hostname(), u.Port()
	a.ascii(u.Hostname())
	if u.User != nil {
		a.Warnings = append(a.Warnings, "what stands before the @ is not the host")
	}
	if forms.Line(s) != s {
		a.Warnings = append(a.Warnings, "what is written as \\u{…} is a letter that cannot be seen")
	}
	if a.Refused == "" && u.Scheme == "http" && !loopback(u.Hostname()) {
		a.Refused = "http is opened on this very machine only: the address has no protection on its way"
	}
	return a
}

// locate finds the host within the text: between the scheme, or the last @ of the authority, and the path.
func (a *Address) locate(u *url.URL) {
	from := strings.Index(a.Text, "//") + 2
	to := len(a.Text)
	if i := strings.IndexAny(a.Text[from:], "/?#"); i >= 0 {
		to = from + i
	}
	if i := strings.LastIndexByte(a.Text[from:to], '@'); i >= 0 && u.User != nil {
		from += i + 1
	}
	a.From, a.To = from, to
}

// ascii writes the host as the name system knows it, and warns of names that may look like others.
func (a *Address) ascii(host string) {
	if net.ParseIP(host) != nil {
		a.Warnings = append(a.Warnings, "the host is a number, not a name")
		return
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil {
		name, err = idna.Punycode.ToASCII(host)
	}
	if name = strings.ToLower(name); err != nil || !lookedUp(name) {
		a.Refused = "the host is no name that can be looked up"
		return
	}
	a.Host = name
	if ip, isNumber := number(name); isNumber {
		a.number(ip)
		return
	}
	for label := range strings.SplitSeq(name, ".") {
		if strings.HasPrefix(label, "xn--") {
			shown, err := idna.Punycode.ToUnicode(name)
			if err != nil {
				shown = name
			}
			a.Warnings = append(a.Warnings, "the host holds letters that may look like others; browsers show "+shown)
			return
		}
	}
	if name != strings.ToLower(host) {
		a.Warnings = append(a.Warnings, "the host is written with letters that browsers read as others")
	}
}

// number takes what a browser makes of a host that is written as a number.
func (a *Address) number(ip string) {
	if ip == "" {
		a.Refused = "the host is a number that no machine can have"
		return
	}
	a.Host = ip
	a.Warnings = append(a.Warnings, "the host is a number, not a name")
}

// lookedUp says whether a name is made of what names are made of. Programs differ in where they end one that is not.
func lookedUp(name string) bool {
	name = strings.TrimSuffix(name, ".")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// number is the address that a browser goes to where the last label of a host is a number: 127.1, 0x7f.1 and
// 2130706433 are all 127.0.0.1. The address is "" where there is none.
func number(name string) (ip string, isNumber bool) {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	last := labels[len(labels)-1]
	if _, isNumber = numeral(last); !isNumber && strings.Trim(last, "0123456789") != "" {
		return "", false
	}
	var sum uint64
	for i, l := range labels {
		n, ok := numeral(l)
		rest := 8 * (4 - len(labels)) // bits of the last label beside its own
		switch {
		case !ok || len(labels) > 4, i < len(labels)-1 && n > 255, i == len(labels)-1 && n >= 1<<(8+rest):
			return "", true
		case i < len(labels)-1:
			sum |= n << (8 * (3 - i))
		default:
			sum |= n
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}).String(), true
}

// numeral reads a label as browsers do: 0x is hexadecimal, a leading 0 octal.
func numeral(label string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(label, "0x"):
		if label, base = label[2:], 16; label == "" {
			return 0, true
		}
	case len(label) > 1 && label[0] == '0':
		label, base = label[1:], 8
	}
	n, err := strconv.ParseUint(label, base, 32)
	return n, err == nil
}

// loopback says whether a host is this machine. A name that is looked up could be any other.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

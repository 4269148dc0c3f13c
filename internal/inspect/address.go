package inspect

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
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
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
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
	switch strings.ToLower(u.Scheme) {
	case "https":
	case "http":
		if !loopback(u.Hostname()) {
			a.Refused = "http is opened on this very machine only: the address has no protection on its way"
		}
	default:
		a.Refused = fmt.Sprintf("only https is opened, not %s", u.Scheme)
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
		if name, err = idna.Punycode.ToASCII(host); err != nil {
			a.Refused = "the host is no name that can be looked up"
			return
		}
	}
	a.Host = name
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
}

// loopback says whether a host is this machine. A name that is looked up could be any other.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

package hostclient

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// DefaultPath is the WebSocket path of a Runtime Host, used where an address has none.
const DefaultPath = "/runtime-host"

// endpoint is a checked address of a Host.
type endpoint struct {
	url    string // canonical: what is dialed and what pins are kept under
	host   string // host name or address, without port
	secure bool
}

// parseEndpoint reads the address of a Host. Whatever could hold a secret (user information, a query, a fragment) is
// refused without being repeated: an address ends up in logs, a token goes into a header.
func parseEndpoint(address string) (endpoint, *Error) {
	u, err := url.Parse(address)
	if err != nil {
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address is not a URL such as wss://devbox:7443")
	}
	switch {
	case u.Scheme != "ws" && u.Scheme != "wss":
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address must begin with ws:// or wss://, as in wss://devbox:7443")
	case u.User != nil:
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address must not hold a user or password; give the token in a file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address must not hold a query or fragment; give the token in a file")
	case u.Hostname() == "" || u.Opaque != "":
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address names no host")
	case strings.Contains(u.Hostname(), "%"):
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address must not hold an IPv6 zone")
	case u.Port() != "" && !validPort(u.Port()):
		return endpoint{}, errorf(CodeBadEndpoint, "the Host's address has a port that is not 1 to 65535")
	}
	e := endpoint{host: strings.ToLower(u.Hostname()), secure: u.Scheme == "wss"}
	port := u.Port()
	if port == "" {
		port = "80"
		if e.secure {
			port = "443"
		}
	}
	path := u.EscapedPath()
	if path == "" || path == "/" {
		path = DefaultPath
	}
	e.url = u.Scheme + "://" + net.JoinHostPort(e.host, port) + path
	return e, nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// loopbackName reports whether a host name can only mean this machine. What "localhost" resolves to is checked again on
// the connection.
func loopbackName(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

func loopbackAddr(a net.Addr) bool {
	ap, err := netip.ParseAddrPort(a.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// checkToken refuses what cannot stand in the Authorization header, without repeating it.
func checkToken(token string) *Error {
	if token == "" {
		return errorf(CodeBadToken, "there is no token for the Host")
	}
	for _, r := range token {
		if r <= ' ' || r >= 0x7f {
			return errorf(CodeBadToken, "the token holds a blank, a line break or another character that no token has")
		}
	}
	return nil
}

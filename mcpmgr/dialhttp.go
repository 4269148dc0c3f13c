package mcpmgr

import (
	"context"
	"errors"
	"fmt"
)

// dialHTTP finds out what an HTTP server speaks. known is the era that the origin had before, ""
// for none; when it fails the origin is probed again.
func (v *server) dialHTTP(ctx context.Context, known Era) (*dialed, error) {
	patience := probeDeadline
	if t := v.cfg.Timeout; t > 0 { // whoever wants to wait less for a call wants it here, too
		patience = min(patience, t)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLegTimeout)
	defer cancel()
	pin := pinOf(v.cfg)
	if pin == EraLegacy || pin == "" && known == EraLegacy {
		s, err := v.openHTTP()
		if err != nil {
			return nil, err
		}
		s.why = v.lastWhy
		if err = s.initialize(ctx, legacyVersions[0]); err == nil {
			return &dialed{s: s, dropLate: func() {}}, nil
		}
		s.close()
		if pin == EraLegacy || transient(err) {
			return nil, err
		}
	}
	s, err := v.openHTTP()
	if err != nil {
		return nil, err
	}
	if err = s.probeHTTP(ctx, pin); err != nil {
		s.close()
		return nil, err
	}
	return &dialed{s: s, dropLate: func() {}}, nil
}

func (v *server) openHTTP() (*session, error) {
	s := v.newSession()
	l, err := newHTTPLink(v.cfg, v.mgr.authFor(v.cfg), s.events())
	if err != nil {
		return nil, &permanent{err}
	}
	if v.mgr.opt.Inspect != nil { // whose servers need not be in a configuration
		l.how = "authorize it in the inspector's list of servers, or by askback authorize where it is configured"
	}
	l.challenged = &v.challenged
	s.start(l)
	return s, nil
}

// probeHTTP asks with server/discover. Only an answer that a legacy server gives changes the era.
func (s *session) probeHTTP(ctx context.Context, pin Era) error {
	for attempt := range 2 {
		supported, err := s.discover(ctx)
		if err != nil {
			code, rpc := rpcCode(err)
			switch {
			case rpc && modernCode(code) && !failing(err):
				named := supportedIn(err)
				supported = named
				if supported == nil {
					supported = modernVersions
				}
				if v, era, _ := chooseVersion(supported); attempt == 0 && code == codeUnsupportedVersion && era == EraModern && v != "" {
					continue // it names the version that it refused: once more
				} else if code == codeUnsupportedVersion && era == EraModern {
					return noCommonVersion(named)
				}
			case looksLegacy(err):
				if pin == EraModern {
					return &permanent{fmt.Errorf("the server is not modern: %s", s.recent.describe(err))}
				}
				s.why = "server/discover: " + clipText(s.recent.describe(err), 120)
				return s.initialize(ctx, legacyVersions[0])
			default:
				return err
			}
		}
		version, era, ok := chooseVersion(supported)
		switch {
		case !ok:
			return noCommonVersion(supported)
		case era == EraModern:
			s.version = version
			s.era.Store(EraModern)
			return nil
		case pin == EraModern:
			return &permanent{fmt.Errorf("the server supports no modern version of the protocol, only %s", version)}
		}
		s.why = "it lists only legacy versions"
		return s.initialize(ctx, version)
	}
	return nil
}

// failing reports whether err is an HTTP failure that says nothing about the era.
func failing(err error) bool {
	status := 0
	if e, ok := errors.AsType[*errStatus](err); ok {
		status = e.status
	}
	if e, ok := errors.AsType[*rpcStatus](err); ok {
		status = e.status
	}
	return status == 408 || status == 429 || status >= 500 || status >= 300 && status < 400
}

// looksLegacy reports whether err is how a legacy server answers server/discover over HTTP: a 4xx
// without a modern error in it, or a JSON-RPC error.
func looksLegacy(err error) bool {
	if failing(err) {
		return false
	}
	if _, ok := errors.AsType[*errAuth](err); ok {
		return false
	}
	if code, ok := rpcCode(err); ok {
		return !modernCode(code)
	}
	e, ok := errors.AsType[*errStatus](err)
	return ok && e.status >= 400 && e.status < 500
}

// transient reports whether err says nothing about the era: nobody there, too busy, not allowed.
func transient(err error) bool {
	_, auth := errors.AsType[*errAuth](err)
	return auth || isGone(err) || failing(err)
}

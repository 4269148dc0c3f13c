package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one connection to a server: a child process, or the exchange with an HTTP origin.
// It begins without an era; opening it finds one. When it becomes the server's current
// session it is a generation. Its context ends, with an *endCause, when the generation does.
type session struct {
	server string
	opt    *Options
	log    *slogger
	link   link
	http   *httpLink // the same link, where it is one
	child  *child    // nil where there is none
	stderr *stderrRing
	recent *recentStates

	legTimeout time.Duration
	ids        atomic.Int64
	ctx        context.Context
	cancel     context.CancelCauseFunc
	wg         sync.WaitGroup
	onChange   func()
	suspect    chan struct{} // HTTP: a request found nobody there
	stale      chan struct{} // the tools may have changed
	firstDone  chan struct{}
	refreshing chan struct{}          // holds one value while the tools are listed
	noises     atomic.Int64           // lines of a child's output that were no messages
	noise      atomic.Pointer[string] // the last of them, as the log has it

	era     atomic.Value // Era; set once, by the handshake
	version string       // these are written by the handshake only, before anyone else looks
	info    ServerInfo
	instr   string
	caps    json.RawMessage
	why     string // why this era
	gen     uint64

	mu       sync.Mutex
	tools    *toolList
	notices  string
	progress map[string]func(json.RawMessage) // by progress token, of the legs on the wire
	logLevel string
	called   bool                               // a call was begun; firstDone is closed then
	replaced bool                               // no call may begin any more
	closing  bool                               // nothing may be added to wg any more
	pushes   map[string]context.CancelCauseFunc // requests of a legacy server that are being answered, by id
	listens  map[int64]*subscription
}

func (s *session) eraNow() Era {
	e, _ := s.era.Load().(Era)
	return e
}

func (s *session) modern() bool { return s.eraNow() == EraModern }

// start ties the session's life to its link's.
func (s *session) start(l link) {
	s.link = l
	s.http, _ = l.(*httpLink)
	s.wg.Go(func() {
		select {
		case <-l.dead():
			cause := &endCause{kind: endLost, msg: l.lost().Error()}
			if _, ok := errors.AsType[*errTooLarge](l.lost()); ok {
				cause.code = CodeLimitExceeded
			}
			s.end(cause)
		case <-s.ctx.Done():
		}
	})
}

// printed says what a silent child's output holds instead; there was noise.
func (s *session) printed() string {
	return "; what it printed is no message of the protocol: " + *s.noise.Load()
}

// end ends the generation: its calls first, the connection later, by close.
func (s *session) end(cause *endCause) { s.cancel(cause) }

// close ends the connection and waits for all that runs for it.
func (s *session) close() {
	s.end(&endCause{kind: endClosed, msg: "the connection was closed"})
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.link.close()
	s.wg.Wait()
}

// spawn runs f as a part of the session, unless that is being closed; f ends with s.ctx.
func (s *session) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.wg.Go(f)
	return true
}

// meta builds the _meta of a modern request. extra members follow the three of the protocol.
func (s *session) meta(caps json.RawMessage, token string) json.RawMessage {
	var b builder
	b.add(mcp.MetaKeyProtocolVersion, quoteString(s.wireVersion()))
	b.add(mcp.MetaKeyClientInfo, s.opt.clientInfo())
	b.add(mcp.MetaKeyClientCapabilities, caps)
	s.mu.Lock()
	level := s.logLevel
	s.mu.Unlock()
	if level != "" {
		b.add(mcp.MetaKeyLogLevel, quoteString(level))
	}
	if token != "" {
		b.add("progressToken", quoteString(token))
	}
	return b.bytes()
}

func (s *session) wireVersion() string {
	if s.version != "" {
		return s.version
	}
	return modernVersions[0]
}

func (o *Options) clientInfo() json.RawMessage {
	var b builder
	b.add("name", quoteString(o.Name)).add("version", quoteString(o.Version))
	return b.bytes()
}

// rpc sends one request that is no leg of a call and returns its complete result. params are the
// members of params without _meta; probing requests are modern before an era is known.
func (s *session) rpc(ctx context.Context, method, name string, params []member, timeout time.Duration) (json.RawMessage, error) {
	modern := s.eraNow() != EraLegacy && method != "initialize"
	var b builder
	for _, m := range params {
		b.raw(m.rawKey, m.val)
	}
	if modern {
		b.add("_meta", s.meta(json.RawMessage("{}"), ""))
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errLegTimeout)
		defer cancel()
	}
	raw, err := s.link.do(ctx, &request{id: s.ids.Add(1), method: method, name: name, params: b.bytes(), modern: modern, version: s.wireVersion()})
	if err != nil {
		return nil, err
	}
	return raw, s.checkComplete(method, raw)
}

// checkComplete refuses a result that is not complete; a method that is no call has no rounds.
func (s *session) checkComplete(method string, raw json.RawMessage) error {
	ms, err := members(raw)
	if err != nil {
		return failf(CodeProtocolError, "the result of %s is malformed: %v", method, err)
	}
	typ, ok := find(ms, "resultType")
	switch {
	case !ok || means(typ, "complete"):
		return nil
	case means(typ, "input_required") && s.eraNow() != EraLegacy:
		return failf(CodeUnsupportedInput, "the server asks for input in reply to %s, which allows none", method)
	}
	return failf(CodeUnsupportedResult, "the result of %s is of the unknown type %s", method, clipText(s.recent.text(string(typ)), 60))
}

func stringMember(key, val string) member {
	return member{name: key, rawKey: quoteString(key), val: quoteString(val)}
}

func rawMember(key string, val json.RawMessage) member {
	return member{name: key, rawKey: quoteString(key), val: val}
}

// discover asks a server what it is. supported is nil where the answer does not say.
func (s *session) discover(ctx context.Context) (supported []string, err error) {
	raw, err := s.rpc(ctx, "server/discover", "", nil, 0)
	if err != nil {
		return nil, err
	}
	ms, err := members(raw)
	if err != nil {
		return nil, failf(CodeProtocolError, "the result of server/discover is malformed: %v", err)
	}
	v, _ := find(ms, "supportedVersions")
	supported, ok := stringList(v)
	if !ok && v != nil {
		return nil, failf(CodeProtocolError, "the supportedVersions of server/discover are not a list of strings")
	}
	s.readIdentity(ms)
	if meta, ok := find(ms, "_meta"); ok {
		if info, ok := lookup(meta, mcp.MetaKeyServerInfo); ok {
			s.info = readInfo(info)
		}
	}
	if supported == nil {
		supported = []string{}
	}
	return supported, nil
}

func (s *session) readIdentity(ms []member) {
	if caps, ok := find(ms, "capabilities"); ok && isObject(caps) {
		s.caps = caps
	}
	if v, ok := find(ms, "instructions"); ok {
		s.instr, _ = stringValue(v)
	}
	if v, ok := find(ms, "serverInfo"); ok {
		s.info = readInfo(v)
	}
}

func readInfo(raw json.RawMessage) ServerInfo {
	ms, _ := members(raw)
	text := func(key string) string {
		v, _ := find(ms, key)
		t, _ := stringValue(v)
		return clipText(t, 512)
	}
	return ServerInfo{Name: text("name"), Title: text("title"), Version: text("version")}
}

// initialize opens a legacy session with the given version and names what was negotiated.
func (s *session) initialize(ctx context.Context, version string) error {
	s.era.Store(EraLegacy) // so that no modern request can go out meanwhile
	caps := json.RawMessage("{}")
	if s.opt.Inspect != nil {
		caps = s.opt.Inspect.Push.capabilities()
	}
	raw, err := s.rpc(ctx, "initialize", "", []member{
		stringMember("protocolVersion", version), rawMember("capabilities", caps), rawMember("clientInfo", s.opt.clientInfo()),
	}, 0)
	if err != nil {
		return err
	}
	ms, err := members(raw)
	if err != nil {
		return failf(CodeProtocolError, "the result of initialize is malformed: %v", err)
	}
	v, _ := find(ms, "protocolVersion")
	got, ok := stringValue(v)
	if !ok {
		return failf(CodeProtocolError, "the result of initialize names no protocolVersion")
	}
	switch _, era, ok := chooseVersion([]string{got}); {
	case !ok:
		return noCommonVersion([]string{got})
	case era != EraLegacy:
		return &permanent{fmt.Errorf("the server answers initialize with the version %s, which begins with server/discover", got)}
	}
	s.version = got
	s.readIdentity(ms)
	if s.http != nil {
		s.http.setLegacy(got)
	}
	err = s.link.notify(ctx, "notifications/initialized", nil)
	if _, refused := errors.AsType[*errStatus](err); refused || errors.Is(err, errNoteTime) {
		s.log.Info("the server does not take notifications/initialized", "server", s.server, "why", err.Error())
		return nil
	}
	return err
}

// capability reports whether the server declared caps[name], and caps[name][flag] is true. Some languages write an empty
// object as an empty list, and some authors true.
func (s *session) capability(name, flag string) (declared, set bool) {
	c, ok := lookup(s.caps, name)
	if !ok || isNull(c) || string(c) == "false" {
		return false, false
	}
	f, _ := lookup(c, flag)
	return true, string(f) == "true"
}

// rpcCode returns the JSON-RPC error code in err, and whether there is one.
func rpcCode(err error) (int64, bool) {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code, true
	}
	return 0, false
}

// supportedIn reads data.supported of a version error.
func supportedIn(err error) []string {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if v, ok := lookup(e.Data, "supported"); ok {
			list, _ := stringList(v)
			return list
		}
	}
	return nil
}

// describe turns an error of a request into a sentence for a status line, without its plumbing. What
// it quotes of the server is redacted before it is cut: half a state is no longer known for one.
func (r *recentStates) describe(err error) string {
	if e, ok := errors.AsType[*ToolCallError](err); ok {
		return r.text(e.Message)
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Sprintf("the server answers with error %d: %s", e.Code, clipText(r.text(e.Message), 300))
	}
	if errors.Is(err, errLegTimeout) {
		return "the server does not answer"
	}
	return r.text(err.Error())
}

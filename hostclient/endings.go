package hostclient

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/gorilla/websocket"
)

// isEnd reports whether err is the network's way to say that the other side is gone.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// readEnding is what the reader's error means. A Host that finds a violation destroys the socket without a word, so a
// connection that just ends says nothing about why.
func readEnding(err error) *Error {
	if errors.Is(err, websocket.ErrReadLimit) {
		return errorf(CodeOversize, "the Host sent a frame larger than the protocol allows")
	}
	c, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		if isEnd(err) {
			return dropped()
		}
		if _, ok := errors.AsType[net.Error](err); ok {
			return errorf(CodeDropped, "the connection to the Host broke: %v", err)
		}
		return errorf(CodeProtocol, "the Host sent what WebSocket does not allow: %v", err)
	}
	switch c.Code {
	case websocket.CloseAbnormalClosure: // the library's word for an end without a close frame
		return dropped()
	case websocket.CloseMessageTooBig:
		return errorf(CodeTooBig, "the Host refused a frame of ours as too large (1009)")
	case websocket.CloseInvalidFramePayloadData:
		return errorf(CodeNotUTF8, "the Host refused a frame of ours as not UTF-8 (1007)")
	case websocket.CloseProtocolError:
		return errorf(CodeClosedByHost, "the Host closed the connection for a WebSocket error (1002)")
	case websocket.CloseNormalClosure, websocket.CloseGoingAway:
		return errorf(CodeClosedByHost, "the Host closed the connection (%d)", c.Code)
	}
	return errorf(CodeClosedByHost, "the Host closed the connection with code %d", c.Code)
}

// writeEnding is what the writer's error means.
func writeEnding(err error) *Error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return errorf(CodeWriteStalled, "the Host has not taken a frame for %v", writeLimit)
	}
	return dropped()
}

func dropped() *Error {
	return errorf(CodeDropped, "the connection to the Host ended without a word: the network broke, the Host stopped, "+
		"revoked the token, or refused a frame")
}

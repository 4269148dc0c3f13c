package demo

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// errState says that a requestState is not one that this server made for this very call.
var errState = errors.New("requestState was not issued by this server for this call")

// sealer makes and opens requestState tokens. A token is a payload and its MAC, bound to the method, the name
// and the arguments of the call, as the multi round-trip specification asks of servers: a client can carry it
// but not change it, and not move it to another call.
type sealer struct{ key []byte }

func newSealer() *sealer {
	key := make([]byte, 32)
	rand.Read(key) // never fails (crypto/rand)
	return &sealer{key}
}

type statePayload struct {
	Step int             `json:"step"`
	Data json.RawMessage `json:"data,omitempty"`
}

func (s *sealer) seal(binding string, p statePayload) (string, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("requestState: %v", err)
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString(body) + "." + enc.EncodeToString(s.mac(binding, body)), nil
}

func (s *sealer) open(binding, token string) (statePayload, error) {
	var p statePayload
	b, m, ok := strings.Cut(token, ".")
	if !ok {
		return p, errState
	}
	enc := base64.RawURLEncoding.Strict()
	body, err := enc.DecodeString(b)
	if err != nil {
		return p, errState
	}
	mac, err := enc.DecodeString(m)
	if err != nil || !hmac.Equal(mac, s.mac(binding, body)) {
		return p, errState
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return p, errState
	}
	return p, nil
}

func (s *sealer) mac(binding string, body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d:%s", len(binding), binding)
	h.Write(body)
	return h.Sum(nil)
}

// bindingOf names a call so that equal calls, and only those, share their states: arguments are compared as JSON
// values, not as bytes.
func bindingOf(method, name string, args json.RawMessage) (string, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("arguments are not JSON: %v", err)
	}
	canon, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canon)
	return fmt.Sprintf("%s %q %x", method, name, sum), nil
}

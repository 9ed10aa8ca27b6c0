package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
)

// refusal is a reason code; empty where nothing is refused.
type refusal string

type signature struct {
	keyID                  string
	sig                    []byte
	authenticator, clients []byte
	asserted               bool
}

type envelope struct {
	kind       string
	payload    []byte
	signatures []signature
}

var isBase64NotEmpty shape = func(value any) bool { return isBase64(value) && value != "" }

var isEnvelope = closed(map[string]member{
	"payloadType": need(func(value any) bool { _, ok := value.(string); return ok }),
	"payload":     need(isBase64),
	"signatures": need(func(value any) bool {
		each, ok := value.([]any)
		return ok && len(each) >= 1 && len(each) <= 16 && listOf(isSignature)(value)
	}),
})

func isSignature(value any) bool {
	given, _ := value.(object)
	_, one := given["authenticatorData"]
	_, two := given["clientDataJSON"]
	return one == two && closed(map[string]member{
		"keyid": need(isText), "sig": need(isBase64NotEmpty),
		"authenticatorData": maybe(isBase64NotEmpty), "clientDataJSON": maybe(isBase64NotEmpty),
	})(value)
}

func openEnvelope(value any) (*envelope, refusal) {
	if !isEnvelope(value) {
		return nil, "envelope_malformed"
	}
	given := value.(object)
	found := &envelope{kind: text(given, "payloadType"), payload: decode64(given["payload"])}
	for _, each := range list(given, "signatures") {
		s := each.(object)
		_, asserted := s["authenticatorData"]
		found.signatures = append(found.signatures, signature{
			keyID: text(s, "keyid"), sig: decode64(s["sig"]), asserted: asserted,
			authenticator: decode64(s["authenticatorData"]), clients: decode64(s["clientDataJSON"]),
		})
	}
	return found, ""
}

// pae is what is signed.
func (e *envelope) pae() []byte {
	return append([]byte(fmt.Sprintf("DSSEv1 %d %s %d ", len(e.kind), e.kind, len(e.payload))), e.payload...)
}

// format is a payload format: its kind, its number, and its members besides `v`.
type format struct {
	kind    string
	v       float64
	members map[string]member
}

func (f format) payloadType() string {
	return fmt.Sprintf("application/vnd.svc.%s.v%d+json", f.kind, int(f.v))
}

var certificateType = regexp.MustCompile(`^application/vnd\.svc\.certificate\.v[0-9]+\+json$`)

// read opens an envelope of one of these formats, and reads its payload.
func read(value any, formats ...format) (*envelope, object, refusal) {
	found, reason := openEnvelope(value)
	if reason != "" {
		return nil, nil, reason
	}
	for _, each := range formats {
		if each.payloadType() == found.kind {
			payload, reason := each.parse(found.payload, formats)
			return found, payload, reason
		}
	}
	if formats[0].kind == "certificate" && certificateType.MatchString(found.kind) {
		return nil, nil, "version_unknown"
	}
	return nil, nil, "payload_type_mismatch"
}

func (f format) parse(bytes []byte, formats []format) (object, refusal) {
	value, ok := parseJSON(bytes)
	payload, isObject := value.(object)
	if !ok || !isObject {
		return nil, "payload_malformed"
	}
	v, isNumber := payload["v"].(float64)
	isNumber = isNumber && v == math.Trunc(v) && math.Abs(v) <= 1<<53-1
	known := false
	for _, each := range formats {
		known = known || each.v == v
	}
	if isNumber && !known {
		return nil, "version_unknown"
	}
	members := map[string]member{"v": need(is(f.v))}
	for name, each := range f.members {
		members[name] = each
	}
	if !closed(members)(payload) || canonical(value) != string(bytes) {
		return nil, "payload_malformed"
	}
	return payload, ""
}

// passkeys says where assertions may come from.
type passkeys struct {
	rpIDs, origins []any
}

// verifyAssertion checks a passkey's signature over a message: the challenge is the message's SHA-256 (WebAuthn §7.2).
func verifyAssertion(key *jwk, message []byte, s signature, allowed passkeys) bool {
	data := s.authenticator
	if !s.asserted || len(data) < 37 {
		return false
	}
	known := false
	for _, id := range allowed.rpIDs {
		sum := sha256.Sum256([]byte(id.(string)))
		known = known || string(sum[:]) == string(data[:32])
	}
	flags := data[32]
	present, verified := flags&0x01 != 0, flags&0x04 != 0
	eligible, backedUp := flags&0x08 != 0, flags&0x10 != 0
	if !known || !present || !verified || backedUp && !eligible || (flags&0xc0 != 0) != (len(data) > 37) {
		return false
	}
	value, ok := parseJSON(s.clients)
	client, isObject := value.(object)
	if !ok || !isObject || client["type"] != "webauthn.get" {
		return false
	}
	crossOrigin, there := client["crossOrigin"]
	if _, framed := client["topOrigin"]; framed || there && crossOrigin != false {
		return false
	}
	sum := sha256.Sum256(message)
	if client["challenge"] != base64.RawURLEncoding.EncodeToString(sum[:]) {
		return false
	}
	known = false
	for _, origin := range allowed.origins {
		known = known || origin == client["origin"]
	}
	hashed := sha256.Sum256(s.clients)
	signed := append(append([]byte{}, data...), hashed[:]...)
	if key.alg == "ES256" {
		digest := sha256.Sum256(signed)
		return known && ecdsa.VerifyASN1(key.ec, digest[:], s.sig)
	}
	return known && key.verify(signed, s.sig)
}

func bigEndian(bytes []byte) uint64 { return binary.BigEndian.Uint64(bytes) }

package main

import (
	"encoding/base64"
	"sort"
)

var certificateV1 = format{"certificate", 1, map[string]member{
	"subject":    need(closed(map[string]member{"kind": need(oneOf("business", "ai_company")), "uuid": need(isUUID)})),
	"legal_name": need(textOf(256)), "country": need(isCountry), "verified_since": need(isInstant),
	"status": need(oneOf("active", "revoked", "closed", "withdrawn")), "status_effective_from": need(isInstant),
	"status_reason": maybe(matches(reasonForm)), "issued_at": need(isInstant), "previous": need(orNull(isHash)), "sandbox": maybe(isTrue),
}}

type certificate struct {
	id                                         string
	uuid, name, status, from, issued, previous string
	kind, country, since, reason               string
}

func (t *trust) mark(payload object) refusal {
	if (payload["sandbox"] == true) != t.anchors.sandbox {
		return "key_unknown"
	}
	return ""
}

func statusFault(certificate object) refusal {
	_, hasReason := certificate["status_reason"]
	status := text(certificate, "status")
	if status == "active" && hasReason || status == "withdrawn" && !hasReason {
		return "payload_malformed"
	}
	return ""
}

func (t *trust) certificate(value any) (*certificate, refusal) {
	env, payload, reason := read(value, certificateV1)
	if reason == "" {
		reason = statusFault(payload)
	}
	if reason == "" {
		reason = t.mark(payload)
	}
	if reason != "" {
		return nil, reason
	}
	found := &certificate{
		id: hashOf(env.payload), uuid: text(sub(payload, "subject"), "uuid"), name: text(payload, "legal_name"), status: text(payload, "status"),
		from: text(payload, "status_effective_from"), issued: text(payload, "issued_at"), previous: text(payload, "previous"),
		kind: text(sub(payload, "subject"), "kind"), country: text(payload, "country"), since: text(payload, "verified_since"), reason: text(payload, "status_reason"),
	}
	return found, t.verifyPair(env, "issuance", found.issued)
}

// history is all issuances of a party, newest first.
func (t *trust) history(uuid string, values []any) ([]*certificate, refusal) {
	byID := map[string]*certificate{}
	named := map[string]bool{}
	for _, each := range values {
		found, reason := t.certificate(each)
		if reason != "" {
			return nil, reason
		}
		byID[found.id] = found
		named[found.previous] = true
	}
	var newest *certificate
	for id, each := range byID {
		if each.uuid != uuid {
			return nil, "certificate_unknown"
		}
		if !named[id] {
			if newest != nil {
				return nil, "certificate_unknown"
			}
			newest = each
		}
	}
	var ordered []*certificate
	for each := newest; each != nil; each = byID[each.previous] {
		ordered = append(ordered, each)
		if each.previous == "" {
			break
		}
	}
	// The oldest ones may be left out, and none between two others.
	if newest == nil || len(ordered) != len(byID) {
		return nil, "certificate_unknown"
	}
	return ordered, ""
}

// sealerSkew is by how much clocks may differ, in milliseconds.
const sealerSkew = 300_000

// certificateAt judges an issuance at `sealed`; what ended counts from `by` on, unless what was sealed stands under an ended certificate as well.
func certificateAt(history []*certificate, id, sealed, by string, mayBeEnded bool) refusal {
	ended := func(c *certificate) refusal {
		if c.status == "withdrawn" {
			return "certificate_withdrawn"
		}
		return "certificate_not_in_force"
	}
	for at, each := range history {
		if each.id != id {
			continue
		}
		if each.status != "active" && !mayBeEnded {
			return ended(each)
		}
		if millis(sealed) < millis(each.issued)-sealerSkew {
			return "certificate_not_in_force"
		}
		for _, later := range history[:at] {
			if later.status == "active" && later.issued <= by {
				return "certificate_not_in_force"
			}
			if later.status != "active" && later.from <= by && !mayBeEnded {
				return ended(later)
			}
		}
		return ""
	}
	return "certificate_unknown"
}

var businessKeysV1 = format{"business-keys", 1, map[string]member{
	"uuid": need(isUUID), "cert_id": need(isHash), "issued_at": need(isInstant),
	"keys": need(sized(0, 10_000, closed(map[string]member{
		"key_id": need(isKeyID), "purpose": need(oneOf("sealing", "integration")), "kind": need(oneOf("passkey", "hosted", "system")),
		"public_key": need(isKey), "cose": maybe(isBase64), "valid_from": need(isInstant), "valid_until": need(orNull(isInstant)),
		"revoked_at": need(orNull(isInstant)), "compromised_from": need(orNull(isInstant)),
	}))),
}}

type businessKey struct {
	key    *jwk
	kind   string
	window window
}

type businessKeys struct {
	uuid, certID, issued string
	keys                 map[string]*businessKey
}

func (t *trust) businessKeys(uuid string, value any) (*businessKeys, refusal) {
	beside := object{}
	if given, ok := value.(object); ok {
		if signed, there := given["signed"]; there {
			value, beside = signed, given
		}
	}
	env, payload, reason := read(value, businessKeysV1)
	if reason != "" {
		return nil, reason
	}
	found := &businessKeys{text(payload, "uuid"), text(payload, "cert_id"), text(payload, "issued_at"), map[string]*businessKey{}}
	for _, each := range list(payload, "keys") {
		entry := each.(object)
		key, kind := parseKey(entry["public_key"]), text(entry, "kind")
		cose, hasCose := entry["cose"]
		isRight := key.id == text(entry, "key_id") && key.alg != "ML-DSA-65" && (kind == "system") == (entry["purpose"] == "integration") &&
			hasCose == (kind == "passkey") && (!hasCose || cose == base64.StdEncoding.EncodeToString(key.cose()))
		if !isRight || found.keys[key.id] != nil {
			return nil, "payload_malformed"
		}
		found.keys[key.id] = &businessKey{key, kind, windowOf(entry)}
	}
	if saysOtherwise(beside, payload, "uuid", "cert_id", "issued_at", "keys") {
		return nil, "payload_malformed"
	}
	if found.uuid != uuid {
		return nil, "key_unknown"
	}
	return found, t.verifyWorking(env, "statement", "", found.issued)
}

// signer finds the key of the business that made the one signature, and checks it; the window is the caller's to judge.
func (t *trust) signer(keys *businessKeys, env *envelope, named string, kinds ...string) (*businessKey, refusal) {
	if len(env.signatures) != 1 {
		return nil, "envelope_malformed"
	}
	s := env.signatures[0]
	if named != "" && s.keyID != named {
		return nil, "key_mismatch"
	}
	key := keys.keys[s.keyID]
	if key == nil || !oneOf(kinds...)(key.kind) {
		return nil, "key_unknown"
	}
	good := !s.asserted && key.key.verify(env.pae(), s.sig)
	if key.kind == "passkey" {
		good = verifyAssertion(key.key, env.pae(), s, t.anchors.passkeys)
	}
	if !good {
		return nil, "signature_invalid"
	}
	return key, ""
}

var isScope = closed(map[string]member{
	"record_types": need(distinct(1, 16, isAnyType)), "countries": need(distinct(1, 676, isCountry)), "directions": need(distinct(1, 1, oneOf("publish"))),
	"caps":                 need(closed(map[string]member{"records_per_hour": need(isCount), "bytes_per_day": need(isCount)})),
	"source_ip_allow_list": need(orNull(distinct(1, 256, matches(sourceForm)))),
})

var mandateV1 = format{"mandate", 1, map[string]member{
	"mandate_id": need(matches(mandateForm)), "business_uuid": need(isUUID), "key_id": need(isKeyID), "scope": need(isScope),
	"valid_from": need(isInstant), "valid_until": need(isInstant),
}}

const mandateMax = 92 * 24 * 3_600_000

func (t *trust) mandate(keys *businessKeys, value any) (object, refusal) {
	env, payload, reason := read(value, mandateV1)
	if reason != "" {
		return nil, reason
	}
	from, until := millis(text(payload, "valid_from")), millis(text(payload, "valid_until"))
	if until <= from || until-from > mandateMax {
		return nil, "payload_malformed"
	}
	if text(payload, "business_uuid") != keys.uuid {
		return nil, "out_of_scope"
	}
	kinds := []string{"passkey"}
	if t.anchors.sandbox {
		kinds = append(kinds, "hosted")
	}
	key, reason := t.signer(keys, env, "", kinds...)
	if reason != "" {
		return nil, reason
	}
	return payload, key.window.at(text(payload, "valid_from"))
}

var holdDecisionV1 = format{"hold-decision", 1, map[string]member{
	"business_uuid": need(isUUID), "push_id": need(matches(batchForm)), "decision": need(oneOf("confirm", "reject")), "at": need(isInstant),
}}

var custodyRequestV1 = format{"custody-request", 1, map[string]member{
	"business_uuid": need(isUUID), "key_id": need(isKeyID), "custody": need(oneOf("hosted", "self")),
	"effective_from": need(isInstant), "at": need(isInstant),
}}

// What a person of the business asks of the service.
func (t *trust) asked(keys *businessKeys, value any, of format) refusal {
	env, payload, reason := read(value, of)
	if reason != "" {
		return reason
	}
	if from, is := payload["effective_from"].(string); is && from > text(payload, "at") {
		return "payload_malformed"
	}
	if text(payload, "business_uuid") != keys.uuid {
		return "out_of_scope"
	}
	key, reason := t.signer(keys, env, "", "passkey")
	if reason != "" {
		return reason
	}
	return key.window.at(text(payload, "at"))
}

var keyCustodyV1 = format{"key-custody", 1, map[string]member{
	"business_uuid": need(isUUID), "key_id": need(isKeyID), "custody": need(oneOf("hosted", "self")),
	"issued_at": need(isInstant), "effective_from": need(isInstant), "sandbox": maybe(isTrue),
}}

func (t *trust) keyCustody(value any) (object, refusal) {
	env, payload, reason := read(value, keyCustodyV1)
	if reason != "" {
		return nil, reason
	}
	if text(payload, "effective_from") > text(payload, "issued_at") {
		return nil, "payload_malformed"
	}
	if reason := t.mark(payload); reason != "" {
		return nil, reason
	}
	return payload, t.verifyPair(env, "issuance", text(payload, "issued_at"))
}

func (t *trust) custodyAt(answer any, uuid, keyID, at string) (string, refusal) {
	given, _ := answer.(object)
	statements, ok := given["statements"].([]any)
	if !ok {
		if statements, ok = answer.([]any); !ok {
			return "", "payload_malformed"
		}
	}
	if saysOtherwise(given, object{"uuid": uuid}, "uuid") {
		return "", "payload_malformed"
	}
	var inForce []object
	for _, each := range statements {
		beside := object{}
		if entry, ok := each.(object); ok {
			if statement, there := entry["statement"]; there {
				each, beside = statement, entry
			}
		}
		found, reason := t.keyCustody(each)
		if reason != "" {
			return "", reason
		}
		id := hashOf(decode64(each.(object)["payload"]))
		if saysOtherwise(beside, found, "key_id", "custody", "effective_from", "issued_at") || saysOtherwise(beside, object{"statement_id": id}, "statement_id") {
			return "", "payload_malformed"
		}
		if text(found, "business_uuid") == uuid && text(found, "key_id") == keyID && text(found, "effective_from") <= at {
			inForce = append(inForce, found)
		}
	}
	if len(inForce) == 0 {
		return "unstated", ""
	}
	sort.Slice(inForce, func(a, b int) bool {
		x, y := inForce[a], inForce[b]
		if text(x, "effective_from") != text(y, "effective_from") {
			return text(x, "effective_from") > text(y, "effective_from")
		}
		return text(x, "issued_at") > text(y, "issued_at")
	})
	return text(inForce[0], "custody"), ""
}

var keyPossessionV1 = format{"key-possession", 1, map[string]member{
	"party_uuid": need(isUUID), "key_id": need(isKeyID), "role": need(oneOf("integration", "retrieval", "sealing")), "challenge": need(isChallenge),
}}

func isChallenge(value any) bool {
	text, ok := value.(string)
	for _, c := range text {
		ok = ok && (c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
	}
	return ok && len(text) >= 22 && len(text) <= 128
}

func keyPossession(allowed passkeys, key object, challenge string, proof any) refusal {
	env, payload, reason := read(proof, keyPossessionV1)
	if reason != "" {
		return reason
	}
	if len(env.signatures) != 1 {
		return "envelope_malformed"
	}
	s := env.signatures[0]
	for _, name := range []string{"party_uuid", "key_id", "role"} {
		if payload[name] != key[name] {
			return "key_mismatch"
		}
	}
	if text(payload, "challenge") != challenge || s.keyID != text(key, "key_id") {
		return "key_mismatch"
	}
	public := parseKey(key["public_key"])
	good := public != nil && !s.asserted && public.verify(env.pae(), s.sig)
	if key["role"] == "sealing" {
		good = public != nil && verifyAssertion(public, env.pae(), s, allowed)
	}
	if !good {
		return "signature_invalid"
	}
	return ""
}

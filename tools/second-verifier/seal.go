package main

import (
	"regexp"
	"sort"
	"strings"
)

func sealMembers(version string, rest map[string]member) map[string]member {
	members := map[string]member{
		"key_id": need(isKeyID), "cert_id": need(isHash), "sealed_at": need(isInstant),
		"record_type": need(isAnyType), version: need(isVersion),
	}
	for name, each := range rest {
		members[name] = each
	}
	return members
}

var (
	single     = map[string]member{"hash": need(isHash)}
	batch      = map[string]member{"root": need(isHash), "tree_size": need(within(1, 100_000)), "seq": need(isCount)}
	seals      = []format{{"seal", 2, sealMembers("ai_policy_version", single)}, {"seal", 1, sealMembers("terms_version", single)}}
	batchSeals = []format{{"batch-seal", 2, sealMembers("ai_policy_version", batch)}, {"batch-seal", 1, sealMembers("terms_version", batch)}}
	isPushed   = closed(map[string]member{"batch_seal": need(isEnvelope), "leaf_index": need(isCount), "tree_size": need(isCount), "proof": need(sized(0, 64, isHash))})
)

// sealInput is what a case gives about a seal.
type sealInput struct {
	document     string
	bytes        []byte
	seal         any
	history      []*certificate
	keys         *businessKeys
	mandates     []any
	hasMandates  bool
	sidecar      any
	hasSidecar   bool
	expectedHash string
	policies     object
	keyEvent     object
}

// sealFound is a good seal.
type sealFound struct {
	payload object
	path    string
	sidecar refusal
}

func (t *trust) seal(in sealInput) (*sealFound, refusal) {
	pushed, isRecordSeal := in.seal.(object)
	_, isRecordSealOfBatch := pushed["batch_seal"]
	isBatch := isRecordSeal && isRecordSealOfBatch
	var env *envelope
	var payload object
	var reason refusal
	if isBatch {
		if !isPushed(in.seal) {
			return nil, "envelope_malformed"
		}
		env, payload, reason = read(pushed["batch_seal"], batchSeals...)
	} else {
		env, payload, reason = read(in.seal, seals...)
	}
	if reason != "" {
		return nil, reason
	}
	hash := hashOf(in.bytes)
	if reason := t.sealedBytes(in, payload, pushed, isBatch, hash); reason != "" {
		return nil, reason
	}
	found := &sealFound{payload: payload, path: "B"}
	kinds := []string{"passkey", "hosted"}
	if isBatch {
		found.path, kinds = "A", []string{"system"}
	} else if in.document == "withdrawal" {
		kinds = append(kinds, "system")
	}
	var stated object
	if in.hasSidecar {
		stated, found.sidecar = t.sidecar(in.sidecar)
		if found.sidecar == "" {
			found.sidecar = concerns(stated, sidecarSubject{uuid: in.keys.uuid, hash: hash, seal: payload})
		}
		if found.sidecar != "" {
			stated = nil
		}
	}
	sealed := text(payload, "sealed_at")
	by, received := sealed, text(stated, "received_at")
	if received != "" && received < by {
		by = received
	}
	key, reason := t.signer(in.keys, env, text(payload, "key_id"), kinds...)
	if reason != "" {
		return nil, reason
	}
	// What the key sealed before a compromise stands if the service is known to have had it before.
	if from := key.window.compromised; from != "" && (received == "" || received >= from) {
		return nil, "key_compromised"
	}
	if sealed < key.window.from {
		return nil, "key_not_valid"
	}
	ended := key.window
	ended.from, ended.compromised = "", ""
	if reason := ended.at(by); reason != "" {
		return nil, reason
	}
	content, reason := sealedContent(in.document, in.bytes, text(payload, "record_type"))
	if reason != "" {
		return nil, reason
	}
	return found, t.standing(in, payload, stated, content, key.kind, found.path, by)
}

func (t *trust) standing(in sealInput, payload, stated, content object, kind, path, by string) refusal {
	named := false
	for _, each := range in.history {
		named = named || each.id == in.keys.certID
	}
	if !named {
		return "certificate_unknown"
	}
	if reason := certificateAt(in.history, text(payload, "cert_id"), text(payload, "sealed_at"), by, in.document == "withdrawal"); reason != "" {
		return reason
	}
	if in.policies != nil && payload["v"] == 2.0 && in.document != "ai_policy" {
		version := count(payload, "ai_policy_version")
		if !policyInForce(in.policies, version, text(payload, "sealed_at")) && (stated == nil || !policyInForce(in.policies, version, text(stated, "received_at"))) {
			return "ai_policy_version_mismatch"
		}
	}
	if stated != nil && !statesAuthority(stated, payload, kind, path) {
		return "out_of_scope"
	}
	if kind == "system" {
		if reason := t.scope(in, payload, stated, content, by); reason != "" {
			return reason
		}
	}
	if in.keyEvent != nil && in.keyEvent["found"] != true && in.keyEvent["required"] == true {
		return "key_event_missing"
	}
	return ""
}

// sealedBytes says whether the seal is over these bytes.
func (t *trust) sealedBytes(in sealInput, payload, pushed object, isBatch bool, hash string) refusal {
	if !isBatch {
		if text(payload, "hash") != hash {
			return "hash_mismatch"
		}
		return ""
	}
	size, index, proof := count(pushed, "tree_size"), count(pushed, "leaf_index"), hashesOf(list(pushed, "proof"))
	root, ok := rootOf(leafHash(in.bytes), index, size, proof)
	sealed, _ := hashBytes(text(payload, "root"))
	if ok && size == count(payload, "tree_size") && string(root) == string(sealed) {
		return ""
	}
	if size == 1 && count(payload, "tree_size") == 1 && index == 0 && len(proof) == 0 {
		return "hash_mismatch"
	}
	known := in.expectedHash
	if known == "" && in.hasSidecar {
		if stated, reason := t.sidecar(in.sidecar); reason == "" {
			known = text(stated, "sha256")
		}
	}
	if known != "" && known != hash {
		return "hash_mismatch"
	}
	return "inclusion_invalid"
}

var schemaForm = regexp.MustCompile(`^svc/([a-z_]+)/([1-9][0-9]*)$`)

// sealedContent reads what was sealed, which has to be of the type that the seal names.
func sealedContent(document string, bytes []byte, recordType string) (object, refusal) {
	value, ok := parseJSON(bytes)
	content, isObject := value.(object)
	if !ok || !isObject {
		return nil, "payload_malformed"
	}
	if document == "withdrawal" {
		if removalText(content) != string(bytes) {
			return nil, "payload_malformed"
		}
		if typeOfRecord(text(content, "record_id")) != recordType {
			return nil, "record_type_mismatch"
		}
		return content, ""
	}
	schema := schemaForm.FindStringSubmatch(text(content, "schema"))
	if schema == nil {
		return nil, "record_type_mismatch"
	}
	if (document == "ai_policy") != (recordType == "ai_policy") || (document == "ad") != (recordType == "ads") || schema[1] != recordType {
		return nil, "record_type_mismatch"
	}
	if schema[2] != "1" || document == "ai_policy" && content["ai_policy_schema"] != 2.0 {
		return nil, "version_unknown"
	}
	return content, ""
}

// removalText is the compact text that a removal has to have; empty for what is none.
func removalText(content object) string {
	isRemoval := closed(map[string]member{"record_id": need(isRecord), "action": need(oneOf("withdraw", "delete")), "at": need(isInstant)})
	if !isRemoval(content) {
		return ""
	}
	return `{"record_id":"` + text(content, "record_id") + `","action":"` + text(content, "action") + `","at":"` + text(content, "at") + `"}`
}

func typeOfRecord(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return typeOf[prefix]
}

// policyInForce says whether a version may have been in force at an instant.
func policyInForce(policies object, version int64, at string) bool {
	given := list(policies, "versions")
	versions := make([]object, 0, len(given))
	for _, each := range given {
		versions = append(versions, each.(object))
	}
	sort.Slice(versions, func(a, b int) bool { return text(versions[a], "live_from") < text(versions[b], "live_from") })
	now, uncertain := millis(at), count(policies, "uncertain_ms")
	from := func(i int) int64 { return millis(text(versions[i], "live_from")) }
	for i, each := range versions {
		if count(each, "version") != version {
			continue
		}
		if from(i)-uncertain <= now && (i+1 == len(versions) || now < from(i+1)+uncertain) {
			return true
		}
	}
	if len(versions) > 0 && now >= from(0)+uncertain {
		return false
	}
	if policies["complete"] == true || len(versions) == 0 {
		return version == 0
	}
	return version < count(versions[0], "version")
}

// statesAuthority says whether a sidecar states the authority that the key has.
func statesAuthority(stated, payload object, kind, path string) bool {
	scope := sub(stated, "scope")
	basis := map[string]string{"system": "mandate", "passkey": "role", "hosted": "standard_publishing"}[kind]
	return scope["kind"] == kind && scope["basis"] == basis && stated["path"] == path && oneOf(texts(list(scope, "permissions"))...)("publish:"+text(payload, "record_type"))
}

// scope says whether an integration key was allowed to publish this record: by one mandate alone, or else why the first does not.
func (t *trust) scope(in sealInput, payload, stated, content object, by string) refusal {
	if !in.hasMandates {
		return ""
	}
	first := refusal("")
	for _, each := range in.mandates {
		given, _ := each.(object)
		reason := t.scopeUnder(given, in, payload, stated, content, by)
		if reason == "" {
			return ""
		}
		if first == "" {
			first = reason
		}
	}
	if first == "" && stated == nil {
		return "out_of_scope"
	}
	return first
}

func (t *trust) scopeUnder(given object, in sealInput, payload, stated, content object, by string) refusal {
	mandate, reason := t.mandate(in.keys, given["envelope"])
	if reason != "" {
		return reason
	}
	if stated != nil && sub(stated, "scope")["mandate_id"] != mandate["mandate_id"] {
		return "out_of_scope"
	}
	scope := sub(mandate, "scope")
	revoked := text(given, "revoked_at")
	covers := text(mandate, "key_id") == text(payload, "key_id") && oneOf(texts(list(scope, "record_types"))...)(payload["record_type"]) &&
		oneOf(texts(list(scope, "directions"))...)("publish") && text(mandate, "valid_from") <= text(payload, "sealed_at") && by < text(mandate, "valid_until") &&
		(revoked == "" || by < revoked)
	for _, country := range list(content, "countries") {
		covers = covers && oneOf(texts(list(scope, "countries"))...)(country)
	}
	if !covers {
		return "out_of_scope"
	}
	return ""
}

func texts(values []any) []string {
	found := make([]string, 0, len(values))
	for _, each := range values {
		text, _ := each.(string)
		found = append(found, text)
	}
	return found
}

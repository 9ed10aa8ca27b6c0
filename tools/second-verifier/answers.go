package main

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// outcomes has what each named check came to: ok, not_checked, or the reason.
type outcomes map[string]string

func (o outcomes) note(name string, reason refusal) {
	o[name] = "ok"
	if reason != "" {
		o[name] = string(reason)
	}
}

func (t *trust) searchAnswer(body []byte, in object) outcomes {
	value, _ := parseJSON(body)
	answer, _ := value.(object)
	rows, hasRows := answer["rows"].([]any)
	if !hasRows || !isText(answer["retrieval_id"]) || !isObject(answer["receipt"]) {
		return outcomes{"answer": "payload_malformed"}
	}
	found := outcomes{}
	subject := object{"retrieval_id": answer["retrieval_id"], "rows": rows, "whole": true}
	copyGiven(subject, in, "caller_key_id", "request_hash")
	receipt, reason := t.receipt(answer["receipt"], subject)
	if reason == "" && (receipt["kind"] != "search" || receipt["collection"] != answer["collection"] || receipt["country"] != answer["country"]) {
		reason = "receipt_row_mismatch"
	}
	found.note("receipt", reason)
	for at, each := range rows {
		found.note("rows/"+strconv.Itoa(at), t.row(each, text(receipt, "served_at")))
	}
	return found
}

func copyGiven(to, from object, names ...string) {
	for _, name := range names {
		if value, there := from[name]; there {
			to[name] = value
		}
	}
}

// fetched is a fetched record with its exact bytes.
type fetched struct {
	answer         object
	record, policy []byte
}

func readFetched(body []byte) *fetched {
	value, spans, ok := parseWithSpans(body)
	answer, isAnswer := value.(object)
	if !ok || !isAnswer || !isRecord(answer["record_id"]) || !isUUID(answer["business_uuid"]) || !isText(answer["type"]) || !isObject(answer["record"]) {
		return nil
	}
	found := &fetched{answer: answer, record: []byte(spans["record"])}
	if isObject(answer["ai_policy"]) {
		_, inner, _ := parseWithSpans([]byte(spans["ai_policy"]))
		found.policy = []byte(inner["record"])
	}
	return found
}

// dayOfKeys is for how long published keys say what was revoked, in milliseconds.
const dayOfKeys = 86_400_000

func (t *trust) fetchAnswer(f *fetched, in object) outcomes {
	found := t.record(f, in)
	_, certID := sealedPayload(f.answer["seal"])
	found.sourceLine(f.answer, hashOf(f.record), certID)
	if leaf, there := sub(f.answer, "provenance")["log_leaf"].(string); there && leaf != hashOf([]byte(canonical(sealOf(f.answer["seal"])))) {
		found["answer"] = "hash_mismatch"
	}
	return found
}

// sealOf is the envelope of a seal.
func sealOf(seal any) any {
	if pushed, ok := seal.(object); ok {
		if inner, there := pushed["batch_seal"]; there {
			return inner
		}
	}
	return seal
}

// record judges a record that was served, by whatever it is shown.
func (t *trust) record(f *fetched, in object) outcomes {
	found := outcomes{}
	answer, hash := f.answer, hashOf(f.record)
	receipt, reason := t.receipt(answer["receipt"], given(in))
	served := ""
	if reason == "" {
		served = text(receipt, "served_at")
		rows := list(receipt, "rows")
		if receipt["kind"] != "fetch" || len(rows) != 1 || rows[0].(object)["record_id"] != answer["record_id"] || rows[0].(object)["adl_origin"] != hash {
			reason = "receipt_row_mismatch"
		}
	}
	found.note("receipt", reason)
	payload, _ := sealedPayload(answer["seal"])
	stated, reason := t.sidecar(answer["sidecar"])
	if reason == "" {
		reason = concerns(stated, sidecarSubject{text(answer, "record_id"), text(answer, "business_uuid"), hash, payload})
	}
	found.note("sidecar", reason)
	isNamed := typeOfRecord(text(answer, "record_id")) == text(answer, "type") && (payload == nil || payload["record_type"] == answer["type"])
	if !isNamed {
		found["answer"] = "record_type_mismatch"
	}
	t.published(f, in, found, served)
	return found
}

func given(in object) object {
	subject := object{}
	copyGiven(subject, in, "caller_key_id", "request_hash")
	return subject
}

func sealedPayload(seal any) (object, string) {
	envelope, _ := sealOf(seal).(object)
	value, _ := parseJSON(decode64(envelope["payload"]))
	payload, _ := value.(object)
	return payload, text(payload, "cert_id")
}

func (o outcomes) sourceLine(answer object, hash, certID string) {
	line, there := sub(answer, "provenance")["source_line"].(string)
	if !there {
		o["source_line"] = "not_checked"
		return
	}
	fields := map[string]string{}
	words := strings.Split(line, " ")
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		fields[name] = value
	}
	link, err := url.Parse(fields["verify"])
	isRight := words[0] == "svc-source/1" && len(words) == 6 && fields["record"] == text(answer, "record_id") && fields["origin"] == hash && fields["cert"] == certID && err == nil
	if isRight {
		query := link.Query()
		isRight = strings.HasSuffix(link.Path, "/v1/verify/"+fields["record"]) && query.Get("origin") == hash && query.Get("cert") == certID && query.Get("served_at") == fields["served"]
	}
	if isRight {
		o["source_line"] = "ok"
	} else {
		o["source_line"] = "hash_mismatch"
	}
}

// published judges what needs the certificates and keys of the business.
func (t *trust) published(f *fetched, in object, found outcomes, served string) {
	uuid := text(f.answer, "business_uuid")
	for _, name := range []string{"certificate", "business_keys", "seal", "ai_policy", "key_custody"} {
		found[name] = "not_checked"
	}
	var history []*certificate
	var keys *businessKeys
	var reason refusal
	if answer, there := in["certificate"].(object); there {
		envelopes := []any{answer["certificate"]}
		for _, each := range list(answer, "history") {
			envelopes = append(envelopes, each.(object)["certificate"])
		}
		history, reason = t.history(uuid, envelopes)
		found.note("certificate", reason)
	}
	if answer, there := in["business_keys"]; there {
		keys, reason = t.businessKeys(uuid, answer)
		found.note("business_keys", reason)
		if reason != "" {
			keys = nil
		}
	}
	if keys != nil && served != "" && millis(served)-millis(keys.issued) > dayOfKeys {
		found["business_keys"] = "not_checked"
		keys = nil
	}
	if found["certificate"] != "ok" || keys == nil {
		return
	}
	t.sealed(f, in, found, sealInput{history: history, keys: keys})
}

func (t *trust) sealed(f *fetched, in object, found outcomes, business sealInput) {
	answer := f.answer
	policies := object(nil)
	if policy := sub(answer, "ai_policy"); policy != nil && policy["seal"] != nil {
		of := business
		of.document, of.bytes, of.seal = "ai_policy", f.policy, policy["seal"]
		seal, reason := t.seal(of)
		if reason == "" && seal.payload["ai_policy_version"] != policy["version"] {
			reason = "ai_policy_version_mismatch"
		}
		if reason == "" && isOlderPolicy(answer) {
			reason = "ai_policy_version_mismatch"
		}
		found.note("ai_policy", reason)
		if reason == "" {
			version := object{"version": policy["version"], "live_from": seal.payload["sealed_at"]}
			policies = object{"versions": []any{version}, "complete": false, "uncertain_ms": float64(sealerSkew)}
		}
	}
	if sub(answer, "ai_policy")["seal"] == nil {
		found["ai_policy"] = "ok"
		if isOlderPolicy(answer) {
			found["ai_policy"] = "ai_policy_version_mismatch"
		}
	}
	of := business
	of.document, of.bytes, of.seal, of.policies = "record", f.record, answer["seal"], policies
	of.sidecar, of.hasSidecar = answer["sidecar"], true
	if mandate, there := in["mandate"]; there {
		of.mandates, of.hasMandates = []any{object{"envelope": mandate}}, true
	}
	seal, reason := t.seal(of)
	found.note("seal", reason)
	if custody, there := in["key_custody"]; there && reason == "" {
		_, reason := t.custodyAt(custody, business.keys.uuid, text(seal.payload, "key_id"), text(seal.payload, "sealed_at"))
		found.note("key_custody", reason)
	}
}

// isOlderPolicy says whether the AI policy of an answer is older than the one that its record was sealed under.
func isOlderPolicy(answer object) bool {
	payload, _ := sealedPayload(answer["seal"])
	return count(sub(answer, "ai_policy"), "version") < count(payload, "ai_policy_version")
}

// isEvidence is an evidence file of format 1.
var isEvidence = closed(map[string]member{
	"format": need(is("svc-evidence/1")), "environment": need(oneOf("production", "sandbox")), "fetched": maybe(isObject), "search": maybe(isObject),
	"key_set": need(isObject), "certificate": maybe(isObject), "business_keys": maybe(isObject), "key_custody": maybe(isAny), "mandate": maybe(isObject),
	"record_base64": maybe(isBase64), "ai_policy_record_base64": maybe(isBase64), "caller_key_id": maybe(isText), "request_hash": maybe(isText),
})

func evidence(a *anchors, file []byte) outcomes {
	value, spans, ok := parseWithSpans(file)
	given, _ := value.(object)
	if ok && given["format"] == "svc-evidence/2" {
		return proofs(a, file, given)
	}
	_, isFetched := given["fetched"]
	_, isSearch := given["search"]
	if !ok || !isEvidence(value) || isFetched == isSearch {
		return outcomes{"file": "payload_malformed"}
	}
	if (given["environment"] == "sandbox") != a.sandbox {
		return outcomes{"environment": "key_unknown"}
	}
	t, reason := readKeySet(a, given["key_set"])
	if reason != "" {
		return outcomes{"key_set": string(reason)}
	}
	if isSearch {
		found := t.searchAnswer([]byte(spans["search"]), given)
		found["key_set"] = "ok"
		return found
	}
	f := readFetched([]byte(spans["fetched"]))
	if f == nil {
		return outcomes{"key_set": "ok", "answer": "payload_malformed"}
	}
	f.record = agreed(f.record, given["record_base64"])
	f.policy = agreed(f.policy, given["ai_policy_record_base64"])
	found := t.fetchAnswer(f, given)
	found["key_set"] = "ok"
	return found
}

// agreed is the bytes beside the answer, where they agree with what it shows.
func agreed(shown []byte, beside any) []byte {
	bytes := decode64(beside)
	one, ok := parseJSON(bytes)
	two, alsoOK := parseJSON(shown)
	if beside != nil && ok && alsoOK && reflect.DeepEqual(one, two) {
		return bytes
	}
	return shown
}

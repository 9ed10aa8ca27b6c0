package main

import (
	"strings"
)

var (
	isProof = func(value any) bool { return listOf(isHash)(value) && len(value.([]any)) <= 64 }
	isPlace = closed(map[string]member{"leaf_index": need(isCount), "proof": need(isProof)})
	isStep  = closed(map[string]member{"hash": need(isHash), "side": need(oneOf("left", "right"))})
	isLog   = closed(map[string]member{
		"checkpoint": need(isText), "witnesses": need(listOf(isText)), "seal": need(isPlace), "key_event": need(isPlace), "certificate": need(isPlace), "ai_policy": maybe(isPlace),
		"receipt": need(closed(map[string]member{"leaf_index": need(isCount), "proof": need(isProof), "name": need(isText), "path": need(listOf(isStep))})),
	})
	isProofFile = closed(map[string]member{
		"format": need(is("svc-evidence/2")), "environment": need(oneOf("production", "sandbox")), "record_id": need(isRecord), "business_uuid": need(isUUID),
		"record_type": need(isType), "record_base64": need(isBase64), "seal": need(isAny), "sidecar": need(isEnvelope), "receipt": need(isText),
		"ai_policy": need(orNull(closed(map[string]member{"version": need(isCount), "record_base64": need(isBase64), "seal": need(isAny)}))),
		"key_set":   need(isEnvelope), "business_keys": need(isEnvelope), "certificates": need(listOf(isEnvelope)), "key_custody": need(listOf(isEnvelope)),
		"caller_key_id": maybe(isKeyID), "request_hash": maybe(isHash), "log": need(isLog),
	})
)

// proofs judges an evidence file of format 2.
func proofs(a *anchors, file []byte, given object) outcomes {
	receipt, isReceipt := parseJSON([]byte(text(given, "receipt")))
	if !isProofFile(given) || canonical(given)+"\n" != string(file) || len(list(given, "certificates")) == 0 || !isReceipt {
		return outcomes{"file": "payload_malformed"}
	}
	if (given["environment"] == "sandbox") != a.sandbox {
		return outcomes{"environment": "key_unknown"}
	}
	t, reason := readKeySet(a, given["key_set"])
	if reason != "" {
		return outcomes{"key_set": string(reason)}
	}
	policy := sub(given, "ai_policy")
	f := &fetched{record: decode64(given["record_base64"]), policy: decode64(policy["record_base64"]), answer: object{
		"record_id": given["record_id"], "business_uuid": given["business_uuid"], "type": given["record_type"], "seal": given["seal"],
		"sidecar": given["sidecar"], "receipt": receipt, "ai_policy": given["ai_policy"],
	}}
	certificates := list(given, "certificates")
	earlier := []any{}
	for _, each := range certificates[1:] {
		earlier = append(earlier, object{"certificate": each})
	}
	in := object{
		"certificate":   object{"certificate": certificates[0], "history": earlier},
		"business_keys": given["business_keys"], "key_custody": list(given, "key_custody"),
	}
	copyGiven(in, given, "caller_key_id", "request_hash")
	found := t.record(f, in)
	found["key_set"] = "ok"
	t.logged(given, receipt, found)
	return found
}

// logged looks for what the file is about in the log.
func (t *trust) logged(given object, receipt any, found outcomes) {
	log := sub(given, "log")
	head, reason := t.wholeCheckpoint(log)
	found.note("checkpoint", reason)
	if reason != "" {
		return
	}
	isIn := func(name string, entry []byte, place any) {
		path, _ := place.(object)
		found[name] = "inclusion_invalid"
		if path != nil && entry != nil && isIncluded(entry, object{"leaf_index": path["leaf_index"], "proof": path["proof"], "tree_size": float64(head.size)}, head) {
			found[name] = "ok"
		}
	}
	uuid := text(given, "business_uuid")
	hashed := func(value any) string { return hashOf([]byte(canonical(value))) }
	envelope, certID := sealOf(given["seal"]), ""
	payload, certID := sealedPayload(given["seal"])
	if payload == nil {
		found["seal_in_log"] = "envelope_malformed"
		return
	}
	isIn("seal_in_log", entryOf(hashed(envelope), "seal", uuid), log["seal"])
	event := object{"business_uuid": uuid, "event": "key_added", "key_id": payload["key_id"], "v": 1.0}
	isIn("key_in_log", entryOf(hashed(event), "key_event", uuid), log["key_event"])
	var named []byte
	for _, each := range list(given, "certificates") {
		if hashOf(decode64(each.(object)["payload"])) == certID {
			named = entryOf(hashed(each), "certificate", uuid)
		}
	}
	isIn("certificate_in_log", named, log["certificate"])
	policy, place := sub(given, "ai_policy"), log["ai_policy"]
	if policy != nil {
		isIn("ai_policy_in_log", entryOf(hashed(policy["seal"]), "seal", uuid), place)
	} else if place != nil {
		found["ai_policy_in_log"] = "inclusion_invalid"
	}
	found.receipt(given, receipt, isIn)
}

func (o outcomes) receipt(given object, receipt any, isIn func(string, []byte, any)) {
	place := sub(sub(given, "log"), "receipt")
	_, stated, reason := read(receipt, receipts...)
	if reason != "" {
		o["receipt_in_log"] = string(reason)
		return
	}
	root := leafHash([]byte(text(given, "receipt")))
	for _, each := range list(place, "path") {
		step := each.(object)
		hash, _ := hashBytes(text(step, "hash"))
		if step["side"] == "left" {
			root = nodeHash(hash, root)
		} else {
			root = nodeHash(root, hash)
		}
	}
	served, name := text(stated, "served_at"), text(place, "name")
	minute := served[0:4] + served[5:7] + served[8:10] + served[11:13] + served[14:16]
	if !strings.HasPrefix(name, minute+"-") {
		o["receipt_in_log"] = "inclusion_invalid"
		return
	}
	isIn("receipt_in_log", entryOf(formatHash(root), "receipt_batch", text(stated, "region")+"/"+name), place)
}

// wholeCheckpoint has one line of the log and one of each of the witnesses, and no other.
func (t *trust) wholeCheckpoint(log object) (*checkpoint, refusal) {
	keys := list(log, "witnesses")
	policy, reason := readWitnessPolicy(object{"keys": keys, "quorum": float64(len(keys))})
	if reason != "" {
		return nil, reason
	}
	witnessed := *t
	witnessed.witnesses = policy
	head, reason := witnessed.checkpoint(text(log, "checkpoint"))
	if reason == "" && len(head.lines) != 1+len(keys) {
		reason = "checkpoint_invalid"
	}
	return head, reason
}

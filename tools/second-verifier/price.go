package main

var isShownPrice = closed(map[string]member{
	"format": need(is("svc-evidence/3")), "environment": need(oneOf("production", "sandbox")), "row": need(isObject), "receipt": need(isEnvelope),
	"source_line": need(isString), "certificate_base64": maybe(isBase64), "key_certificates": maybe(sized(1, 32, isEnvelope)),
})

// shownPrice judges an evidence file of format 3: by the key set that its reader has, or else by the chain in it.
func shownPrice(a *anchors, given, in object) outcomes {
	if !isShownPrice(given) {
		return outcomes{"file": "payload_malformed"}
	}
	if (given["environment"] == "sandbox") != a.sandbox {
		return outcomes{"environment": "key_unknown"}
	}
	found := outcomes{"key_set": "not_checked"}
	var t *trust
	if chain := list(given, "key_certificates"); chain != nil {
		chained, reason := readKeyChain(a, chain)
		found.note("key_chain", reason)
		t = chained
	}
	if keySet, there := in["key_set"]; there {
		known, reason := readKeySet(a, keySet)
		found.note("key_set", reason)
		t = known
	}
	if t == nil || found["key_chain"] != "ok" && found["key_chain"] != "" || found["key_set"] != "ok" && found["key_set"] != "not_checked" {
		return found
	}
	t.price(given, found)
	return found
}

func (t *trust) price(given object, found outcomes) {
	row := sub(given, "row")
	receipt, reason := t.receipt(given["receipt"], object{})
	if reason == "" && (receipt["kind"] != "search" || receipt["collection"] != "products") {
		receipt, reason = nil, "receipt_row_mismatch"
	}
	served := text(receipt, "served_at")
	unfit := t.row(row, served)
	if unfit == "" {
		unfit = servedWith(row, "products")
	}
	if reason == "" && unfit == "" {
		_, reason = t.receipt(given["receipt"], object{"rows": []any{row}})
	}
	if reason == "" && receipt["key_id"] == nil {
		reason = "receipt_caller_mismatch"
	}
	found.note("receipt", reason)
	found.note("row", unfit)
	found["source_line"], found["certificate"] = "not_checked", "not_checked"
	if unfit == "" && served != "" {
		line := object{"record_id": row["record_id"], "provenance": object{"source_line": given["source_line"]}}
		found.sourceLine(line, text(row, "adl_origin"), text(row, "adl_origin_cert"), served, "")
	}
	if payload, there := given["certificate_base64"]; there && unfit == "" {
		found.note("certificate", t.named(decode64(payload), row, served))
	}
	found.open(nil, "/row/ai_policy_bits", "/row/sponsored", "/source_line")
}

// named judges the payload of the certificate that a signed row names by its hash.
func (t *trust) named(payload []byte, row object, served string) refusal {
	if hashOf(payload) != text(row, "adl_origin_cert") {
		return "hash_mismatch"
	}
	certificate, reason := certificateV1.parse(payload, []format{certificateV1})
	if reason == "" {
		reason = statusFault(certificate)
	}
	switch {
	case reason != "":
		return reason
	case certificate["status"] != "active" || served != "" && text(certificate, "issued_at") > served:
		return "certificate_not_in_force"
	case sub(certificate, "subject")["kind"] != "business" || sub(certificate, "subject")["uuid"] != row["business_uuid"]:
		return "certificate_unknown"
	}
	return t.mark(certificate)
}

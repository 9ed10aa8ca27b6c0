package main

var isAdRow = closed(map[string]member{
	"record_id": need(isRecord), "business_uuid": need(isUUID), "type": need(is("ads")), "published_at": need(isCount), "countries": need(listOf(isCountry)),
	"adl_origin": need(isHash), "adl_origin_cert": need(isHash), "adl_proj": need(is("ads/1")), "adl_row_sig": need(isBase64NotEmpty),
	"adl_key_id": need(isKeyID), "ai_policy_version": need(isVersion), "ai_policy_bits": need(isBits), "language": need(isText),
	"headline": need(isText), "body": need(isString), "call_to_action": maybe(isText), "display_domain": need(isText),
	"keywords": need(listOf(isText)), "subdivisions": maybe(listOf(isText)), "adl_dest": need(isText), "adl_creative": need(listOf(isHash)),
	"adl_origin_seal": need(isEnvelope),
})

var isAdItem = closed(map[string]member{
	"ad_id": need(isRecord),
	"creative": need(closed(map[string]member{
		"headline": need(isText), "body": need(isString), "call_to_action": need(orNull(isText)), "display_domain": need(isText), "destination_url": need(isText),
		"images": need(listOf(closed(map[string]member{
			"sha256": need(isHash), "media_type": need(oneOf("image/png", "image/jpeg", "image/webp")), "width": need(isCount), "height": need(isCount),
			"alt": need(isText), "url": need(isText),
		}))),
	})),
	"label":     need(closed(map[string]member{"text": need(is("Sponsored")), "advertiser": need(isText)})),
	"net_price": need(closed(map[string]member{"amount": need(matches(isDecimal)), "currency": need(isText)})), "keyword_matches": need(isCount),
	"render_token": need(isText), "row": need(isAdRow), "record_base64": need(isBase64), "sidecar": need(isEnvelope),
	"ai_policy":   need(closed(map[string]member{"version": need(isCount), "record": need(orNull(isObject)), "seal": need(orNull(isEnvelope))})),
	"certificate": need(isEnvelope), "certificate_history": maybe(listOf(isEnvelope)), "keys": need(isEnvelope),
})

func isString(value any) bool { _, ok := value.(string); return ok }

// adItem judges an ad by nothing but its item.
func (t *trust) adItem(in object) outcomes {
	item := sub(in, "item")
	row := sub(item, "row")
	if row != nil && t.row(row, "") == "projection_unknown" {
		return outcomes{"row": "projection_unknown"}
	}
	policy := sub(item, "ai_policy")
	if !isAdItem(in["item"]) || (policy["version"] == 0.0) != (policy["record"] == nil) || (policy["record"] == nil) != (policy["seal"] == nil) {
		return outcomes{"item": "payload_malformed"}
	}
	found, bytes := outcomes{}, decode64(item["record_base64"])
	reason := t.row(row, text(in, "served_at"))
	if reason == "" && typeOfRecord(text(row, "record_id")) != "ads" {
		reason = "record_type_mismatch"
	} else if reason == "" && row["record_id"] != item["ad_id"] {
		reason = "hash_mismatch"
	}
	found.note("row", reason)
	found["creative"] = "not_checked"
	if text(row, "adl_origin") != hashOf(bytes) {
		found["origin_hash"] = "hash_mismatch"
	} else {
		found["origin_hash"] = "ok"
		found.note("creative", shownAsSealed(sub(item, "creative"), bytes))
	}
	found.note("projection", t.adProjection(row, bytes))
	found["images"] = pictures(item, sub(in, "images"))
	t.adBusiness(in, item, bytes, found)
	found.open(nil, "/creative/images/*/url", "/net_price", "/keyword_matches", "/render_token", "/row/ai_policy_bits/action")
	return found
}

// adProjection runs the projection again; the row's own signature is judged elsewhere.
func (t *trust) adProjection(row object, bytes []byte) refusal {
	if hashOf(bytes) != text(row, "adl_origin") {
		return "hash_mismatch"
	}
	value, _ := parseJSON(bytes)
	record, _ := value.(object)
	specification := specifications["ads/1"]
	if record == nil || specification == nil {
		return "payload_malformed"
	}
	return projects(specification, row, record)
}

// shownAsSealed says whether every text, link and picture shown is the sealed one.
func shownAsSealed(creative object, bytes []byte) refusal {
	value, _ := parseJSON(bytes)
	ad, isObject := value.(object)
	if !isObject {
		return "payload_malformed"
	}
	for _, name := range []string{"headline", "body", "call_to_action", "display_domain", "destination_url"} {
		if ad[name] != creative[name] {
			return "hash_mismatch"
		}
	}
	sealed, shown := list(ad, "images"), list(creative, "images")
	if len(sealed) != len(shown) {
		return "hash_mismatch"
	}
	for at, each := range shown {
		picture := object{}
		for name, value := range each.(object) {
			if name != "url" {
				picture[name] = value
			}
		}
		if canonical(any(picture)) != canonical(sealed[at]) {
			return "hash_mismatch"
		}
	}
	return ""
}

// pictures compares the bytes at hand with the hashes that the row's signature covers.
func pictures(item, given object) string {
	hashes, shown := list(sub(item, "row"), "adl_creative"), list(sub(item, "creative"), "images")
	if len(hashes) != len(shown) {
		return "hash_mismatch"
	}
	outcome := "ok"
	for at, each := range shown {
		picture := each.(object)
		bytes, there := given[text(picture, "url")]
		if !there {
			bytes, there = given[text(picture, "sha256")]
		}
		if picture["sha256"] != hashes[at] || there && hashOf(decode64(bytes)) != hashes[at] {
			return "hash_mismatch"
		}
		if !there {
			outcome = "not_checked"
		}
	}
	return outcome
}

// adBusiness judges what needs the certificate and the keys of the advertiser.
func (t *trust) adBusiness(in, item object, bytes []byte, found outcomes) {
	found["seal"], found["ai_policy_bits"] = "not_checked", "not_checked"
	row, policy := sub(item, "row"), sub(item, "ai_policy")
	uuid := text(row, "business_uuid")
	newest, reason := t.certificate(item["certificate"])
	var history []*certificate
	if reason == "" {
		history, reason = t.history(uuid, append([]any{item["certificate"]}, list(item, "certificate_history")...))
	}
	if reason == "" && history[0].id != newest.id {
		reason = "certificate_unknown"
	}
	var keys *businessKeys
	if reason == "" {
		keys, reason = t.businessKeys(uuid, item["keys"])
	}
	if reason != "" {
		found.note("seal", reason)
		return
	}
	if found["creative"] == "ok" && text(sub(item, "label"), "advertiser") != newest.name {
		found["creative"] = "hash_mismatch"
	}
	if served := text(in, "served_at"); served != "" && millis(served)-millis(keys.issued) > dayOfKeys {
		return
	}
	business := sealInput{history: history, keys: keys}
	var sealed *sealInput
	policies := object(nil)
	if policy["seal"] != nil {
		of := business
		of.document, of.bytes, of.seal = "ai_policy", []byte(canonical(policy["record"])), policy["seal"]
		sealed = &of
		if seal, reason := t.seal(of); reason == "" && seal.payload["ai_policy_version"] == policy["version"] {
			version := object{"version": policy["version"], "live_from": seal.payload["sealed_at"]}
			policies = object{"versions": []any{version}, "complete": false, "uncertain_ms": float64(sealerSkew)}
		}
	}
	of := business
	of.document, of.bytes, of.seal, of.policies = "ad", bytes, row["adl_origin_seal"], policies
	of.sidecar, of.hasSidecar = item["sidecar"], true
	seal, reason := t.seal(of)
	if reason == "" {
		reason = t.adSeal(item, seal)
	}
	found.note("seal", reason)
	_, bits := t.policyBits(row["ai_policy_bits"], sealed)
	under := float64(0)
	if reason == "" {
		under, _ = seal.payload["ai_policy_version"].(float64)
	}
	version, _ := policy["version"].(float64)
	if bits == "" && (sub(row, "ai_policy_bits")["ai_policy_version"] != policy["version"] || under > version) {
		bits = "ai_policy_version_mismatch"
	}
	found.note("ai_policy_bits", bits)
}

// adSeal says whether a good seal is the one that the row and the sidecar state.
func (t *trust) adSeal(item object, seal *sealFound) refusal {
	row := sub(item, "row")
	switch {
	case seal.payload["v"] != 2.0:
		return "version_unknown"
	case seal.payload["cert_id"] != row["adl_origin_cert"]:
		return "certificate_unknown"
	case seal.payload["ai_policy_version"] != row["ai_policy_version"]:
		return "ai_policy_version_mismatch"
	case seal.sidecar != "":
		return seal.sidecar
	}
	stated, reason := t.sidecar(item["sidecar"])
	if reason != "" {
		return reason
	}
	if reason := concerns(stated, sidecarSubject{text(row, "record_id"), text(row, "business_uuid"), "", nil}); reason != "" {
		return reason
	}
	if millis(text(stated, "published_at"))/1000 != count(row, "published_at") {
		return "hash_mismatch"
	}
	return ""
}

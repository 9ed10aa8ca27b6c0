package main

import "reflect"

func sidecarFormat(v float64, version string) format {
	return format{"sidecar", v, map[string]member{
		"action": need(oneOf("publish", "update", "withdraw", "delete")), version: need(isVersion), "batch_id": need(orNull(matches(batchForm))),
		"business_uuid": need(isUUID), "cert_id": need(isHash), "change": need(isOrder), "generation": need(isOrder), "path": need(oneOf("A", "B")),
		"published_at": need(isInstant), "received_at": need(isInstant), "record_id": need(isRecord), "record_type": need(isAnyType),
		"record_version": need(isOrder), "seal_ok": need(isTrue), "sealed_at": need(isInstant), "sealed_by_key_id": need(isKeyID), "sha256": need(isHash),
		"source": need(oneOf("manual", "import", "api")),
		"scope": need(closed(map[string]member{
			"basis": need(oneOf("mandate", "role", "standard_publishing")), "key_id": need(isKeyID), "kind": need(oneOf("system", "passkey", "hosted")),
			"mandate_id": need(orNull(textOf(128))), "permissions": need(distinct(1, 32, matches(permitForm))),
		})),
	}}
}

var sidecars = []format{sidecarFormat(2, "ai_policy_version"), sidecarFormat(1, "terms_version")}

func (t *trust) sidecar(value any) (object, refusal) {
	env, payload, reason := read(value, sidecars...)
	if reason != "" {
		return nil, reason
	}
	return payload, t.verifyWorking(env, "sidecar", "", text(payload, "published_at"))
}

// sidecarSubject is what a sidecar should be about.
type sidecarSubject struct {
	recordID, uuid, hash string
	seal                 object
}

func concerns(stated object, about sidecarSubject) refusal {
	if about.hash != "" && about.hash != text(stated, "sha256") || about.recordID != "" && about.recordID != text(stated, "record_id") ||
		about.uuid != "" && about.uuid != text(stated, "business_uuid") {
		return "hash_mismatch"
	}
	if about.seal == nil {
		return ""
	}
	key := text(about.seal, "key_id")
	switch {
	case text(stated, "sealed_by_key_id") != key || text(sub(stated, "scope"), "key_id") != key:
		return "key_mismatch"
	case stated["record_type"] != about.seal["record_type"]:
		return "record_type_mismatch"
	case stated["cert_id"] != about.seal["cert_id"]:
		return "certificate_unknown"
	case stated["ai_policy_version"] != about.seal["ai_policy_version"] || stated["terms_version"] != about.seal["terms_version"]:
		return "ai_policy_version_mismatch"
	case stated["sealed_at"] != about.seal["sealed_at"]:
		return "hash_mismatch"
	}
	return ""
}

func receiptFormat(v float64, version string, isNamed bool) format {
	members := map[string]member{
		"retrieval_id": need(textOf(128)), "kind": need(oneOf("search", "fetch", "ad_pool")), "collection": need(orNull(isType)), "country": need(orNull(isCountry)),
		"ai_company_uuid": need(isUUID), "request_hash": need(isHash), "served_at": need(isInstant), "region": need(matches(regionForm)),
		"rows": need(sized(0, 50, closed(map[string]member{
			"record_id": need(isRecord), "adl_origin": need(isHash), "adl_row_sig": need(matches(rowSigForm)), version: need(isVersion),
		}))),
	}
	if isNamed {
		members["key_id"] = need(isKeyID)
	}
	return format{"receipt", v, members}
}

var receipts = []format{receiptFormat(3, "ai_policy_version", true), receiptFormat(2, "terms_version", true), receiptFormat(1, "terms_version", false)}

func (t *trust) receipt(value any, in object) (object, refusal) {
	env, payload, reason := read(value, receipts...)
	if reason != "" {
		return nil, reason
	}
	if reason := t.verifyWorking(env, "receipt", text(payload, "region"), text(payload, "served_at")); reason != "" {
		return nil, reason
	}
	for given, name := range map[string]string{"caller_key_id": "key_id", "request_hash": "request_hash", "retrieval_id": "retrieval_id"} {
		if want, there := in[given]; there && payload[name] != want {
			return nil, "receipt_caller_mismatch"
		}
	}
	rows, there := in["rows"].([]any)
	if !there {
		return payload, ""
	}
	stated := list(payload, "rows")
	if in["whole"] == true && len(stated) != len(rows) {
		return nil, "receipt_row_mismatch"
	}
	for at, each := range rows {
		row, _ := each.(object)
		found := false
		for index, other := range stated {
			found = found || matchesRow(row, other.(object)) && (in["whole"] != true || index == at)
		}
		if !found {
			return nil, "receipt_row_mismatch"
		}
	}
	return payload, ""
}

func matchesRow(row, stated object) bool {
	for name, want := range stated {
		if name != "terms_version" && row[name] != want {
			return false
		}
	}
	return true
}

// projections are the published specifications that this verifier knows, by the hash that each is pinned to.
var projections = map[string]string{
	"products/1":       "sha256:aa903a13cb76a9ceadeeb93de13933b846feccbe858d55ce61501094badfa9cd",
	"business_files/1": "sha256:cdfc5ae255a73f6e7f11cd84f08a6a42ff3d0744fdffd23e4b8567fa9d630c7d",
	"events/1":         "sha256:a51114a907c0aa95b8a3ad412905131d051e7a04aab766b58bd29545e9d758c4",
	"jobs/1":           "sha256:2c9a0dfdfc505c2c59b582726fb54edff7cafc52cee046082d8451e397ed5043",
	"ads/1":            "sha256:159c028bb10f0088cde29433dfe6e793ae0d971d65693afe0ba442ddbfc40d71",
	"updates/1":        "sha256:be4f68708f09f83616bdae298780b837a3a50e017f9cd17042e302a58609a445",
}

func (t *trust) row(value any, servedAt string) refusal {
	row, ok := value.(object)
	signature := decode64(row["adl_row_sig"])
	isRow := isRecord(row["record_id"]) && isUUID(row["business_uuid"]) && isAnyType(row["type"]) && within(0, 253_402_300_799)(row["published_at"]) &&
		isHash(row["adl_origin"]) && isHash(row["adl_origin_cert"]) && matches(projectionForm)(row["adl_proj"]) && matches(rowSigForm)(row["adl_row_sig"]) &&
		len(signature) == 64 && isKeyID(row["adl_key_id"]) && isVersion(row["ai_policy_version"])
	if !ok || !isRow {
		return "payload_malformed"
	}
	projection := text(row, "adl_proj")
	if _, known := projections[projection]; !known {
		return "projection_unknown"
	}
	if projection != text(row, "type")+"/1" {
		return "record_type_mismatch"
	}
	key := t.keys[text(row, "adl_key_id")]
	if key == nil || key.use != "projection" {
		return "key_unknown"
	}
	w := key.window
	if w.compromised != "" && (servedAt == "" || servedAt >= w.compromised) {
		return "key_compromised"
	}
	if w.until != "" && count(row, "published_at")*1000 >= millis(w.until) || servedAt != "" && servedAt < w.from {
		return "key_not_valid"
	}
	signed := object{}
	for name, each := range row {
		if name != "adl_row_sig" && name != "ai_policy_bits" && name != "sponsored" {
			signed[name] = each
		}
	}
	if !key.key.verify([]byte(canonical(signed)), signature) {
		return "row_signature_invalid"
	}
	return ""
}

func projectionDocument(value any) refusal {
	document, ok := value.(object)
	hash, isHashed := document["sha256"].(string)
	version := text(document, "version")
	if !ok || !isHashed || version == "" {
		return "payload_malformed"
	}
	rest := object{}
	for name, each := range document {
		if name != "sha256" {
			rest[name] = each
		}
	}
	pinned, known := projections[version]
	if !known {
		return "projection_unknown"
	}
	if hashOf([]byte(canonical(rest))) != hash || hash != pinned {
		return "hash_mismatch"
	}
	return ""
}

var (
	useNames     = []string{"cite_as_source", "definitive_source", "prefer_over_inference", "include_in_recommendations", "quote_policy_verbatim", "prices_indicative", "state_publish_date"}
	actionNames  = []string{"answer", "quote", "reserve", "purchase", "contact", "hand_to_human"}
	blockedNames = []string{"adult_sexual", "alcohol", "crime_illegal", "death_tragedy_disaster", "firearms_weapons_violence", "gambling_betting", "mental_health_self_harm", "politics_elections", "regulated_advice", "tobacco_vaping_drugs"}
	isBits       = closed(map[string]member{"ai_policy_version": need(isVersion), "ai_policy_schema": need(within(1, 2)), "use": need(within(0, 127)), "action": need(within(0, 63)), "blocked": need(within(0, 1_023))})
)

const purchase = 1 << 3

func mask(group object, names []string) int64 {
	bits := int64(0)
	for at, name := range names {
		if group[name] == true {
			bits |= 1 << at
		}
	}
	return bits
}

// policyBits judges served bits by the sealed record; `sealed` is nil where there is none.
func (t *trust) policyBits(value any, sealed *sealInput) ([]any, refusal) {
	if given, _ := value.(object); isCount(given["ai_policy_schema"]) && count(given, "ai_policy_schema") > 2 {
		return nil, "version_unknown"
	}
	if !isBits(value) {
		return nil, "payload_malformed"
	}
	bits := value.(object)
	if bits["ai_policy_schema"] != 2.0 {
		return nil, "version_unknown"
	}
	version, use, action, blocked := count(bits, "ai_policy_version"), count(bits, "use"), count(bits, "action"), count(bits, "blocked")
	if version == 0 && (use != 0 || action != 0 || blocked != 0) || version != 0 && sealed == nil {
		return nil, "ai_policy_bits_mismatch"
	}
	if sealed == nil {
		return []any{}, ""
	}
	found, reason := t.seal(*sealed)
	if reason != "" {
		return nil, reason
	}
	if count(found.payload, "ai_policy_version") != version {
		return nil, "ai_policy_version_mismatch"
	}
	content, _ := parseJSON(sealed.bytes)
	record := content.(object)
	granted := mask(sub(record, "action"), actionNames)
	if use != mask(sub(record, "use"), useNames) || blocked != mask(sub(record, "blocked"), blockedNames) || action != granted && action != granted&^purchase {
		return nil, "ai_policy_bits_mismatch"
	}
	names := []any{}
	for at, name := range blockedNames {
		if blocked&(1<<at) != 0 {
			names = append(names, name)
		}
	}
	return names, ""
}

var verifyStatementV1 = format{"verify-statement", 1, map[string]member{
	"checked_at": need(isInstant), "record_hash": need(isHash), "sandbox": maybe(isTrue), "valid": need(isBool), "seal": need(orNull(isObject)),
	"log_inclusion": need(orNull(isObject)), "sidecar": need(orNull(isObject)), "projection": need(orNull(isObject)),
	"ai_policy_bits": need(orNull(isObject)), "ad": need(orNull(isObject)), "entitlement": maybe(isObject), "warnings": need(listOf(isText)),
}}

var verifyPageV1 = format{"verify-page", 1, map[string]member{
	"record_id": need(isRecord), "adl_origin": need(isHash), "record_type": need(isType), "valid": need(isBool), "status": need(isText), "business": need(isObject),
	"version": need(orNull(isObject)), "removal": need(orNull(isObject)), "purge_order": need(orNull(isObject)), "checks": need(isObject), "endpoints": need(isAny), "source_line": need(orNull(isText)),
	"full_check": need(isText), "checked_at": need(isInstant), "reason": maybe(isText), "detail": maybe(isText),
}}

var keyDirectoryV1 = format{"key-directory", 1, map[string]member{
	"issued_at": need(isInstant),
	"companies": need(listOf(closed(map[string]member{
		"ai_company_uuid": need(isUUID), "name": need(isText), "certificate_url": need(isText),
		"keys": need(listOf(closed(map[string]member{
			"key_id": need(isKeyID), "alg": need(oneOf("Ed25519", "ES256")), "public_key": need(isKey), "source": need(oneOf("portal", "directory_import")),
			"valid_from": need(isInstant), "valid_until": need(orNull(isInstant)),
		}))),
	}))),
}}

// stated opens what the statement key signed; in an answer, nothing beside the envelope may differ from it.
func (t *trust) stated(value any, of format, instant string, beside ...string) (object, refusal) {
	answer, isAnswer := value.(object)
	statement, inAnswer := answer["statement"]
	if isAnswer && inAnswer {
		value = statement
	}
	env, payload, reason := read(value, of)
	if reason != "" {
		return nil, reason
	}
	if isAnswer && inAnswer {
		for name, each := range answer {
			if want, there := payload[name]; name != "statement" && (!there || !reflect.DeepEqual(want, each)) {
				return nil, "payload_malformed"
			}
		}
		for name := range payload {
			if _, there := answer[name]; !there && !oneOf(beside...)(name) {
				return nil, "payload_malformed"
			}
		}
	}
	return payload, t.verifyWorking(env, "statement", "", text(payload, instant))
}

func (t *trust) statement(in object) refusal {
	payload, reason := t.stated(in["answer"], verifyStatementV1, "checked_at", "v", "checked_at", "record_hash", "sandbox")
	if reason != "" {
		return reason
	}
	if reason := t.mark(payload); reason != "" {
		return reason
	}
	if _, there := in["record_base64"]; there && hashOf(decode64(in["record_base64"])) != text(payload, "record_hash") {
		return "hash_mismatch"
	}
	return ""
}

func (t *trust) page(in object) refusal {
	payload, reason := t.stated(in["answer"], verifyPageV1, "checked_at")
	if reason != "" {
		return reason
	}
	if typeOfRecord(text(payload, "record_id")) != text(payload, "record_type") {
		return "record_type_mismatch"
	}
	if removal := sub(payload, "removal"); removal != nil {
		if reason := statedRemoval(payload, removal); reason != "" {
			return reason
		}
	}
	_, hasBytes := in["record_base64"]
	id, hasID := in["record_id"]
	if hasBytes && hashOf(decode64(in["record_base64"])) != text(payload, "adl_origin") || hasID && id != payload["record_id"] {
		return "hash_mismatch"
	}
	return ""
}

func statedRemoval(page, removal object) refusal {
	document := decode64(removal["document_base64"])
	value, _ := parseJSON(document)
	content, _ := value.(object)
	if removalText(content) != string(document) || content["record_id"] != page["record_id"] || content["action"] != removal["action"] || content["at"] != removal["at"] {
		return "payload_malformed"
	}
	_, seal, reason := read(removal["seal"], seals...)
	switch {
	case reason != "":
		return reason
	case text(seal, "hash") != hashOf(document):
		return "hash_mismatch"
	case seal["record_type"] != page["record_type"]:
		return "record_type_mismatch"
	}
	return ""
}

func (t *trust) keyDirectory(value any) (object, refusal) {
	payload, reason := t.stated(value, keyDirectoryV1, "issued_at")
	if reason != "" {
		return nil, reason
	}
	seen := map[string]bool{}
	for _, each := range list(payload, "companies") {
		company := each.(object)
		uuid := text(company, "ai_company_uuid")
		if seen[uuid] {
			return nil, "payload_malformed"
		}
		seen[uuid] = true
		for _, one := range list(company, "keys") {
			entry := one.(object)
			key := parseKey(entry["public_key"])
			if key.id != text(entry, "key_id") || key.alg != text(entry, "alg") || seen[key.id] {
				return nil, "payload_malformed"
			}
			seen[key.id] = true
		}
	}
	return payload, ""
}

func listedKeyAt(directory object, keyID, at string) (string, refusal) {
	for _, each := range list(directory, "companies") {
		company := each.(object)
		for _, one := range list(company, "keys") {
			if entry := one.(object); text(entry, "key_id") == keyID {
				return text(company, "ai_company_uuid"), windowOf(entry).at(at)
			}
		}
	}
	return "", "key_unknown"
}

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
	unknown, whole := searchNames.unknown(value, "")
	rows, hasRows := answer["rows"].([]any)
	if !whole || !hasRows || !isString(answer["retrieval_id"]) {
		return outcomes{"answer": "payload_malformed"}
	}
	found := outcomes{}
	subject := object{"retrieval_id": answer["retrieval_id"]}
	copyGiven(subject, in, "caller_key_id", "request_hash")
	receipt, reason := t.receipt(answer["receipt"], subject)
	if reason == "" && (receipt["kind"] != "search" || receipt["collection"] != answer["collection"] || receipt["country"] != answer["country"]) {
		receipt, reason = nil, "receipt_row_mismatch"
	}
	areGood := true
	for at, each := range rows {
		reason := t.row(each, text(receipt, "served_at"))
		if reason == "" {
			reason = servedWith(each.(object), answer["collection"])
		}
		found.note("rows/"+strconv.Itoa(at), reason)
		areGood = areGood && reason == ""
	}
	if reason == "" && areGood {
		subject["rows"], subject["whole"] = rows, true
		_, reason = t.receipt(answer["receipt"], subject)
	}
	found.note("receipt", reason)
	found.open(unknown)
	if len(rows) > 0 {
		found.open(nil, "/rows/*/ai_policy_bits", "/rows/*/sponsored")
	}
	return found
}

// servedWith judges what is set when a row is served, as far as its signed members show it.
func servedWith(row object, collection any) refusal {
	bits := sub(row, "ai_policy_bits")
	_, isMarked := row["sponsored"]
	version, use, action, blocked := count(bits, "ai_policy_version"), count(bits, "use"), count(bits, "action"), count(bits, "blocked")
	switch {
	case row["type"] != collection:
		return "record_type_mismatch"
	case isCount(bits["ai_policy_schema"]) && count(bits, "ai_policy_schema") > 2:
		return "version_unknown"
	case !isBits(row["ai_policy_bits"]) || isMarked && (row["sponsored"] != true || row["type"] != "products"):
		return "payload_malformed"
	case version == 0 && (use|action|blocked) != 0:
		return "ai_policy_bits_mismatch"
	case version < count(row, "ai_policy_version"):
		return "ai_policy_version_mismatch"
	}
	return ""
}

// poolAnswer judges a pool of ads, whose pictures nobody fetched.
func (t *trust) poolAnswer(body []byte, in object) outcomes {
	value, _ := parseJSON(body)
	answer, _ := value.(object)
	unknown, whole := poolNames.unknown(value, "")
	ads, hasAds := answer["ads"].([]any)
	if !whole || !hasAds || !isString(answer["retrieval_id"]) {
		return outcomes{"answer": "payload_malformed"}
	}
	found := outcomes{}
	subject := object{"retrieval_id": answer["retrieval_id"]}
	copyGiven(subject, in, "caller_key_id", "request_hash")
	receipt, reason := t.receipt(answer["receipt"], subject)
	if reason == "" && (receipt["kind"] != "ad_pool" || receipt["country"] != answer["country"]) {
		reason = "receipt_row_mismatch"
	}
	if rows := t.rowsOf(ads, text(receipt, "served_at")); reason == "" && rows != nil {
		subject["rows"], subject["whole"] = rows, true
		_, reason = t.receipt(answer["receipt"], subject)
	}
	found.note("receipt", reason)
	for at, each := range ads {
		for name, outcome := range t.adItem(object{"item": each, "served_at": text(receipt, "served_at")}) {
			found["ads/"+strconv.Itoa(at)+"/"+name] = outcome
		}
	}
	part, isPart := answer["subdivision"].(string)
	if answer["subdivision"] != nil && !isPart || isPart && !strings.HasPrefix(part, text(answer, "country")+"-") {
		found["answer"] = "payload_malformed"
	} else if receipt != nil && millis(text(answer, "render_until")) != millis(text(receipt, "served_at"))+600_000 {
		found["answer"] = "hash_mismatch"
	}
	found.open(unknown, "/subdivision")
	return found
}

// rowsOf are the rows of the ads, or nil if one of them does not verify: its own check says so, and the receipt is not blamed for it.
func (t *trust) rowsOf(ads []any, servedAt string) []any {
	rows := []any{}
	for _, each := range ads {
		item, _ := each.(object)
		if t.row(item["row"], servedAt) != "" {
			return nil
		}
		rows = append(rows, item["row"])
	}
	return rows
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
	unknown        []string
}

func readFetched(body []byte) *fetched {
	value, spans, ok := parseWithSpans(body)
	answer, isAnswer := value.(object)
	unknown, whole := fetchNames.unknown(value, "")
	policy := sub(answer, "ai_policy")
	isNone := policy["version"] == 0.0
	if !ok || !isAnswer || !whole || !isRecord(answer["record_id"]) || !isUUID(answer["business_uuid"]) || !isString(answer["type"]) || answer["record"] == nil ||
		!isCount(policy["version"]) || isNone != (policy["record"] == nil) || isNone != (policy["seal"] == nil) {
		return nil
	}
	found := &fetched{answer: answer, record: []byte(spans["record"]), unknown: unknown}
	_, inner, _ := parseWithSpans([]byte(spans["ai_policy"]))
	found.policy = []byte(inner["record"])
	return found
}

// dayOfKeys is for how long published keys say what was revoked, in milliseconds.
const dayOfKeys = 86_400_000

func (t *trust) fetchAnswer(f *fetched, in object) outcomes {
	found := t.record(f, in)
	base, isKnown := in["verify_url"].(string)
	certID, served := "", ""
	if found["sidecar"] == "ok" {
		stated, _ := t.sidecar(f.answer["sidecar"])
		certID = text(stated, "cert_id")
	}
	if found["receipt"] == "ok" {
		receipt, _ := t.receipt(f.answer["receipt"], given(in))
		served = text(receipt, "served_at")
	}
	found.sourceLine(f.answer, hashOf(f.record), certID, served, base)
	if _, failed := found["answer"]; !failed {
		if reason := t.shown(f, base); reason != "" {
			found["answer"] = string(reason)
		}
	}
	found.open(f.unknown)
	if f.answer["type"] == "business_files" {
		found.open(nil, "/endpoints/status")
	}
	if !isKnown {
		found.open(nil, "/provenance/certificate_url", "/provenance/source_line")
	}
	return found
}

// shown says what is wrong with the members of an answer that follow from what is signed in it.
func (t *trust) shown(f *fetched, base string) refusal {
	answer := f.answer
	kept, kind := sub(answer, "provenance"), text(answer, "type")
	stated, reason := t.sidecar(answer["sidecar"])
	_, unread := openEnvelope(sealOf(answer["seal"]))
	address, path := text(kept, "certificate_url"), "/v1/certificates/"+text(answer, "business_uuid")
	projection := text(kept, "projection_version")
	_, isKnown := projections[projection]
	switch {
	case reason == "" && answer["published_at"] != stated["published_at"], unread == "" && kept["log_leaf"] != hashOf([]byte(canonical(sealOf(answer["seal"])))):
		return "hash_mismatch"
	case !isAddress(address) || !strings.HasSuffix(address, path) || base != "" && address != base+path:
		return "hash_mismatch"
	case !isKnown:
		return "projection_unknown"
	case projection != kind+"/1":
		return "record_type_mismatch"
	}
	texts, hasTexts := answer["represent_us"]
	endpoints, hasEndpoints := answer["endpoints"]
	if kind != "business_files" {
		if hasTexts || hasEndpoints {
			return "payload_malformed"
		}
		return ""
	}
	value, _ := parseJSON(f.record)
	record, _ := value.(object)
	shown, _ := texts.(object)
	for name := range fetchNames["represent_us"] {
		if shown == nil || !reflect.DeepEqual(shown[name], sub(record, "represent_us")[name]) {
			return "hash_mismatch"
		}
	}
	items, hasItems := record["endpoints"]
	if !hasItems {
		items = []any{}
	}
	part, _ := endpoints.(object)
	if !reflect.DeepEqual(part["items"], items) {
		return "hash_mismatch"
	}
	if !oneOf("authorised", "unconfirmed", "suspended")(part["status"]) {
		return "payload_malformed"
	}
	return ""
}

func isAddress(text string) bool {
	rest, isWeb := strings.CutPrefix(text, "https://")
	if !isWeb {
		rest, isWeb = strings.CutPrefix(text, "http://")
	}
	return isWeb && rest != "" && strings.IndexFunc(rest, func(each rune) bool { return each < '!' || each > '~' }) < 0
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

func (o outcomes) sourceLine(answer object, hash, certID, served, base string) {
	line, _ := sub(answer, "provenance")["source_line"].(string)
	fields := map[string]string{}
	for _, word := range strings.Split(line, " ") {
		name, value, _ := strings.Cut(word, "=")
		fields[name] = value
	}
	host, _, _ := strings.Cut(fields["verify"], "/v1/verify/")
	write := func(record, origin, cert, at, base string) string {
		link := base + "/v1/verify/" + record + "?origin=" + url.QueryEscape(origin) + "&cert=" + url.QueryEscape(cert) + "&served_at=" + url.QueryEscape(at)
		return "svc-source/1 record=" + record + " origin=" + origin + " cert=" + cert + " served=" + at + " verify=" + link
	}
	isForm := isRecord(fields["record"]) && isHash(fields["origin"]) && isHash(fields["cert"]) && isInstant(fields["served"]) && host != ""
	if !isForm || line != write(fields["record"], fields["origin"], fields["cert"], fields["served"], host) {
		o["source_line"] = "payload_malformed"
		return
	}
	orElse := func(known, own string) string {
		if known == "" {
			return own
		}
		return known
	}
	o["source_line"] = "ok"
	if line != write(text(answer, "record_id"), hash, orElse(certID, fields["cert"]), orElse(served, fields["served"]), orElse(base, host)) {
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
	if answer, there := in["certificate"]; there {
		history, reason = t.certificateAnswer(uuid, answer)
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
	if mandate, there := in["mandate"]; there {
		found["mandate"] = "not_checked"
		if keys != nil {
			_, reason := t.mandate(keys, mandate)
			found.note("mandate", reason)
		}
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
	"format": need(is("svc-evidence/1")), "environment": need(oneOf("production", "sandbox")), "fetched": maybe(isAny), "search": maybe(isAny), "pool": maybe(isAny),
	"key_set": need(isAny), "certificate": maybe(isObject), "business_keys": maybe(isAny), "key_custody": maybe(isObject), "mandate": maybe(isAny),
	"record_base64": maybe(isBase64), "ai_policy_record_base64": maybe(isBase64), "caller_key_id": maybe(isKeyID), "request_hash": maybe(isHash),
})

// hasOnlyKnown says whether no answer in an evidence file has a member that is not known, and those beside the served one lack none.
func hasOnlyKnown(given object) bool {
	if _, isFetched := given["fetched"]; !isFetched {
		for _, name := range []string{"certificate", "business_keys", "key_custody", "mandate", "record_base64", "ai_policy_record_base64"} {
			if _, there := given[name]; there {
				return false
			}
		}
	}
	strangers, _ := fetchNames.unknown(given["fetched"], "")
	others, _ := searchNames.unknown(given["search"], "")
	further, _ := poolNames.unknown(given["pool"], "")
	right := len(strangers) == 0 && len(others) == 0 && len(further) == 0
	has := func(name, by string) (object, bool) {
		answer, _ := given[name].(object)
		_, there := answer[by]
		return answer, there
	}
	if keys, there := has("business_keys", "signed"); there {
		right = right && keysNames.are(keys)
	}
	if keys, there := has("key_set", "signed"); there {
		right = right && keySetNames.are(keys)
	}
	if answer, ok := given["certificate"].(object); ok {
		right = right && certificateNames.are(answer) && areEach(issuanceNames, list(answer, "history"))
	}
	if custody, ok := given["key_custody"].(object); ok {
		right = right && custodyNames.are(custody) && areEach(entryNames, list(custody, "statements"))
	}
	return right
}

func evidence(a *anchors, file []byte, in object) outcomes {
	value, spans, ok := parseWithSpans(file)
	given, _ := value.(object)
	if ok && given["format"] == "svc-evidence/3" {
		return shownPrice(a, given, in)
	}
	if ok && given["format"] == "svc-evidence/2" {
		return proofs(a, file, given)
	}
	_, isFetched := given["fetched"]
	_, isSearch := given["search"]
	_, isPool := given["pool"]
	one := isFetched && !isSearch && !isPool || !isFetched && isSearch != isPool
	if !ok || !isEvidence(value) || !one || !hasOnlyKnown(given) {
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
	if isPool {
		found := t.poolAnswer([]byte(spans["pool"]), given)
		found["key_set"] = "ok"
		return found
	}
	f := readFetched([]byte(spans["fetched"]))
	if f == nil {
		return outcomes{"key_set": "ok", "answer": "payload_malformed"}
	}
	if !agrees(&f.record, given, "record_base64") || !agrees(&f.policy, given, "ai_policy_record_base64") {
		return outcomes{"key_set": "ok", "answer": "hash_mismatch"}
	}
	found := t.fetchAnswer(f, given)
	found["key_set"] = "ok"
	return found
}

// agrees takes the bytes beside an answer in place of the text in it, where both have the same content.
func agrees(shown *[]byte, given object, name string) bool {
	beside, there := given[name]
	if !there {
		return true
	}
	bytes := decode64(beside)
	one, ok := parseJSON(bytes)
	two, alsoOK := parseJSON(*shown)
	same := ok && alsoOK && reflect.DeepEqual(one, two)
	*shown = bytes
	return same
}

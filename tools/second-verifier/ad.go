package main

import (
	"regexp"
	"strings"
	"unicode"
)

var isAdRow = closed(map[string]member{
	"record_id": need(isRecord), "business_uuid": need(isUUID), "type": need(is("ads")), "published_at": need(within(0, 253_402_300_799)),
	"adl_origin": need(isHash), "adl_origin_cert": need(isHash), "adl_proj": need(is("ads/1")), "adl_row_sig": need(matches(rowSigForm)),
	"adl_key_id": need(isKeyID), "ai_policy_version": need(isVersion), "ai_policy_bits": need(isBits), "adl_origin_seal": need(isEnvelope),
	"countries": need(distinct(1, 249, oneOf(strings.Fields(countries)...))), "subdivisions": maybe(distinct(1, 1_000, matches(subdivisionForm))),
	"language": need(oneOf(strings.Fields(languages)...)), "keywords": need(distinct(1, 50, lineOf(64))), "headline": need(lineOf(90)),
	"body": need(isBody), "call_to_action": maybe(lineOf(30)), "display_domain": need(isHost), "adl_dest": need(isLink),
	"adl_creative": need(listOf(isHash)),
})

var isAdItem = closed(map[string]member{
	"ad_id": need(isRecord),
	"creative": need(closed(map[string]member{
		"headline": need(lineOf(90)), "body": need(isBody), "call_to_action": need(orNull(lineOf(30))), "display_domain": need(isHost), "destination_url": need(isLink),
		"images": need(sized(0, 4, closed(map[string]member{
			"sha256": need(isHash), "media_type": need(oneOf("image/png", "image/jpeg", "image/webp")), "width": need(within(1, 4_096)), "height": need(within(1, 4_096)),
			"alt": need(textOf(200)), "url": need(textOf(2_048)),
		}))),
	})),
	"label":     need(closed(map[string]member{"text": need(is("Sponsored")), "advertiser": need(textOf(256))})),
	"net_price": need(closed(map[string]member{"amount": need(matches(moneyForm)), "currency": need(matches(currencyForm))})), "keyword_matches": need(isCount),
	"render_token": need(textOf(2_048)), "row": need(isAdRow), "record_base64": need(isRecordBytes), "sidecar": need(isEnvelope),
	"ai_policy":   need(closed(map[string]member{"version": need(isVersion), "record": need(orNull(isPolicy)), "seal": need(orNull(isEnvelope))})),
	"certificate": need(isEnvelope), "certificate_history": maybe(sized(1, 100, isEnvelope)), "keys": need(isEnvelope),
})

var isPolicy = closed(map[string]member{
	"schema": need(is("svc/ai_policy/1")), "ai_policy_schema": need(is(2.0)), "use": need(flags(useNames)), "action": need(flags(actionNames)), "blocked": need(flags(blockedNames)),
})

const (
	countries = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
	languages = "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
	labelForm = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	hostForm  = `(?:` + labelForm + `\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	partForm  = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*`
)

var (
	moneyForm       = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?$`)
	currencyForm    = regexp.MustCompile(`^[A-Z]{3}$`)
	subdivisionForm = regexp.MustCompile(`^[A-Z]{2}-[A-Z0-9]{1,3}$`)
	wholeHostForm   = regexp.MustCompile(`^` + hostForm + `$`)
	linkForm        = regexp.MustCompile(`^https://(` + hostForm + `)(?::[0-9]{1,5})?(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?(?:\?` + partForm + `)?(?:#` + partForm + `)?$`)
)

// flags is an object of exactly these members, each true or false.
func flags(names []string) shape {
	members := map[string]member{}
	for _, name := range names {
		members[name] = need(isBool)
	}
	return closed(members)
}

// written says whether the text has something other than white space, and no control character but line feeds where they may be.
func written(text string, lines bool) bool {
	seen := false
	for _, each := range text {
		if each < 0x20 && (each != '\n' || !lines) || each >= 0x7f && each <= 0x9f {
			return false
		}
		seen = seen || !unicode.IsSpace(each) && each != 0xfeff
	}
	return seen
}

// lineOf is a text of one line, of at most `most` UTF-16 units.
func lineOf(most int) shape {
	return func(value any) bool { return textOf(most)(value) && written(value.(string), false) }
}

func isBody(value any) bool {
	return value == "" || textOf(300)(value) && written(value.(string), true)
}

func isHost(value any) bool {
	text, ok := value.(string)
	return ok && len(text) <= 253 && text == strings.ToLower(text) && wholeHostForm.MatchString(text)
}

func isLink(value any) bool {
	text, ok := value.(string)
	found := linkForm.FindStringSubmatch(text)
	return ok && len(text) <= 2_048 && found != nil && len(found[1]) <= 253
}

func isRecordBytes(value any) bool {
	text, _ := value.(string)
	return len(text) <= 204_800 && isBase64(value)
}

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

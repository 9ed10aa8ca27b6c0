package main

// entitlementLife is the longest time for which one is valid, in milliseconds.
const entitlementLife = 86_400_000

var entitlementV1 = format{"entitlement", 1, map[string]member{
	"ai_company_uuid": need(isUUID), "legal_name": need(textOf(256)), "cert_id": need(isHash), "key_ids": need(distinct(1, 100, isKeyID)),
	"terms": need(orNull(closed(map[string]member{
		"version":   need(within(1, 1_000_000)),
		"sha256":    need(isHash),
		"agreed_at": need(isInstant),
	}))),
	"billing": need(oneOf("prepaid", "none")), "valid_from": need(isInstant), "valid_until": need(isInstant), "sandbox": maybe(isTrue),
}}

// entitlement judges one at an instant: whatever is wrong with it makes it invalid, and only a genuine one expires.
func (t *trust) entitlement(in object) refusal {
	stated, reason := t.stated(in["answer"], entitlementV1, "valid_from", "v", "sandbox")
	if reason != "" || t.mark(stated) != "" {
		return "entitlement_invalid"
	}
	from, until, at := text(stated, "valid_from"), text(stated, "valid_until"), text(in, "at")
	life := millis(until) - millis(from)
	key, hasKey := in["key_id"]
	company, hasCompany := in["ai_company_uuid"]
	if life <= 0 || life > entitlementLife || hasKey && !oneOf(texts(list(stated, "key_ids"))...)(key) ||
		hasCompany && stated["ai_company_uuid"] != company || at < from {
		return "entitlement_invalid"
	}
	if at >= until {
		return "entitlement_expired"
	}
	return ""
}

package main

import (
	"reflect"
	"strings"
)

// saysOtherwise says whether anything beside a signed document is not what the document says.
func saysOtherwise(beside, signed object, names ...string) bool {
	for _, name := range names {
		if found, there := beside[name]; there && !reflect.DeepEqual(found, signed[name]) {
			return true
		}
	}
	return false
}

// names are the members of an answer, each with those of the object in it; nil where nothing is looked at.
type names map[string]names

var (
	fetchNames = names{
		"record_id": nil, "business_uuid": nil, "type": nil, "published_at": nil, "record": nil, "seal": nil, "sidecar": nil, "receipt": nil,
		"ai_policy":    {"version": nil, "record": nil, "seal": nil},
		"represent_us": {"who_we_are": nil, "what_we_offer": nil, "who_we_serve": nil, "what_sets_us_apart": nil, "how_to_describe_us": nil},
		"endpoints":    {"status": nil, "items": nil},
		"provenance":   {"certificate_url": nil, "projection_version": nil, "log_leaf": nil, "source_line": nil},
	}
	searchNames      = names{"retrieval_id": nil, "collection": nil, "country": nil, "rows": nil, "receipt": nil}
	poolNames        = names{"retrieval_id": nil, "country": nil, "subdivision": nil, "ads": nil, "render_until": nil, "receipt": nil}
	issuanceNames    = names{"status": nil, "status_effective_from": nil, "status_reason": nil, "cert_id": nil, "issued_at": nil, "certificate": nil}
	certificateNames = names{
		"subject": {"kind": nil, "uuid": nil, "legal_name": nil, "country": nil}, "status": nil, "status_effective_from": nil, "status_reason": nil,
		"cert_id": nil, "issued_at": nil, "statement": nil, "certificate": nil, "history": nil,
	}
	keysNames    = names{"uuid": nil, "cert_id": nil, "issued_at": nil, "keys": nil, "signed": nil}
	keySetNames  = names{"keys": nil, "signed": nil}
	custodyNames = names{"uuid": nil, "statements": nil}
	entryNames   = names{"key_id": nil, "custody": nil, "effective_from": nil, "issued_at": nil, "statement_id": nil, "statement": nil}
	mayBeAbsent  = map[string]bool{"represent_us": true, "endpoints": true, "status_reason": true}
)

// unknown are the pointers of members that an answer does not have; whole says whether it has all that it needs.
func (n names) unknown(value any, pointer string) (found []string, whole bool) {
	given, ok := value.(object)
	if n == nil || !ok {
		return nil, n == nil || pointer == ""
	}
	whole = true
	for name, each := range given {
		at := pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		inner, known := n[name]
		if !known {
			found = append(found, at)
			continue
		}
		more, isWhole := inner.unknown(each, at)
		found, whole = append(found, more...), whole && isWhole
	}
	for name := range n {
		if _, there := given[name]; !there && !mayBeAbsent[name] {
			whole = false
		}
	}
	return found, whole
}

// are says whether a value has exactly these members.
func (n names) are(value any) bool {
	unknown, whole := n.unknown(value, "")
	return whole && len(unknown) == 0
}

func areEach(n names, values []any) bool {
	for _, each := range values {
		if !isObject(each) || !n.are(each) {
			return false
		}
	}
	return true
}

// open notes what was not checked.
func (o outcomes) open(unknown []string, unsigned ...string) {
	for _, each := range unknown {
		o["unknown"+each] = "not_checked"
	}
	for _, each := range unsigned {
		o["unsigned"+each] = "unsigned"
	}
}

// sentence is the certificate in plain words.
func (c *certificate) sentence() string {
	party, before := "business", " What it sealed before stays valid."
	if c.kind != "business" {
		party, before = "AI company", ""
	}
	who, day := c.name+" ("+c.country+")", c.from[:10]
	switch c.status {
	case "active":
		return who + " is the real " + party + ": verified since " + c.since[:10] + ". Its certificate is active."
	case "closed":
		return who + " closed on " + day + "." + before
	case "withdrawn":
		return "The verification of " + who + " was withdrawn with effect from " + day + " (" + c.reason + ")." + before
	}
	if c.kind == "business" {
		return who + " was verified, but its certificate was revoked: nothing sealed from " + day + " on stands."
	}
	return who + " was verified, but its certificate was revoked with effect from " + day + "."
}

// stated is what an answer says of an issuance beside its envelope.
func (c *certificate) stated() object {
	said := object{"status": c.status, "status_effective_from": c.from, "cert_id": c.id, "issued_at": c.issued, "statement": c.sentence(),
		"subject": object{"kind": c.kind, "uuid": c.uuid, "legal_name": c.name, "country": c.country}}
	if c.reason != "" {
		said["status_reason"] = c.reason
	}
	return said
}

// certificateAnswer judges the answer of the read of a certificate: the newest issuance and the earlier ones.
func (t *trust) certificateAnswer(uuid string, given any) ([]*certificate, refusal) {
	answer, _ := given.(object)
	earlier, there := answer["history"]
	_, isList := earlier.([]any)
	if _, hasNewest := answer["certificate"]; !hasNewest || there && !isList {
		return nil, "payload_malformed"
	}
	entries := []object{answer}
	for _, each := range list(answer, "history") {
		entry, _ := each.(object)
		entries = append(entries, entry)
	}
	var envelopes []any
	for _, each := range entries {
		envelopes = append(envelopes, each["certificate"])
	}
	history, reason := t.history(uuid, envelopes)
	if reason != "" {
		return nil, reason
	}
	if named, there := answer["cert_id"]; there && named != history[0].id {
		return nil, "payload_malformed"
	}
	for at, each := range entries {
		id := hashOf(decode64(sub(each, "certificate")["payload"]))
		for _, issued := range history {
			told := []string{"status", "status_effective_from", "status_reason", "cert_id", "issued_at"}
			if at == 0 {
				told = append(told, "subject", "statement")
			}
			if issued.id == id && saysOtherwise(each, issued.stated(), told...) {
				return nil, "payload_malformed"
			}
		}
	}
	return history, ""
}

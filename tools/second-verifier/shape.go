package main

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"regexp"
	"time"
	"unicode/utf16"
)

var (
	numberForm     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	instantForm    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`)
	hashForm       = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	keyIDForm      = regexp.MustCompile(`^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$`)
	uuidForm       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	recordForm     = regexp.MustCompile(`^(svc|bf|evt|job|upd|ad|aip)_[a-z2-7]{26}$`)
	countryForm    = regexp.MustCompile(`^[A-Z]{2}$`)
	regionForm     = regexp.MustCompile(`^[a-z]+-[a-z]+[0-9]+$`)
	batchForm      = regexp.MustCompile(`^bat_[0-9a-f]{24}$`)
	rowSigForm     = regexp.MustCompile(`^[A-Za-z0-9+/]{86}==$`)
	mandateForm    = regexp.MustCompile(`^[!-~]{1,128}$`)
	sourceForm     = regexp.MustCompile(`^(AS[1-9][0-9]{0,9}|[0-9a-fA-F.:]{2,45}/(0|[1-9][0-9]{0,2}))$`)
	reasonForm     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	permitForm     = regexp.MustCompile(`^[a-z_]+(:[a-z_]+)?$`)
	projectionForm = regexp.MustCompile(`^[a-z_]{1,32}/[1-9][0-9]{0,5}$`)
)

// typeOf names the record type of each prefix of a record id.
var typeOf = map[string]string{"svc": "products", "bf": "business_files", "evt": "events", "job": "jobs", "upd": "updates", "ad": "ads"}

// shape says whether a value is of a form.
type shape func(value any) bool

// member is a member of a closed object.
type member struct {
	is       shape
	optional bool
}

func need(is shape) member  { return member{is: is} }
func maybe(is shape) member { return member{is: is, optional: true} }

// closed is an object that has exactly these members.
func closed(members map[string]member) shape {
	return func(value any) bool {
		given, ok := value.(object)
		if !ok {
			return false
		}
		for name, each := range members {
			found, there := given[name]
			if !there && !each.optional || there && !each.is(found) {
				return false
			}
		}
		for name := range given {
			if _, known := members[name]; !known {
				return false
			}
		}
		return true
	}
}

func matches(form *regexp.Regexp) shape {
	return func(value any) bool {
		text, ok := value.(string)
		return ok && form.MatchString(text)
	}
}

func oneOf(words ...string) shape {
	return func(value any) bool {
		for _, word := range words {
			if value == word {
				return true
			}
		}
		return false
	}
}

func orNull(is shape) shape {
	return func(value any) bool { return value == nil || is(value) }
}

func listOf(is shape) shape {
	return func(value any) bool {
		list, ok := value.([]any)
		for _, each := range list {
			ok = ok && is(each)
		}
		return ok
	}
}

func isText(value any) bool   { text, ok := value.(string); return ok && text != "" }
func isString(value any) bool { _, ok := value.(string); return ok }
func isBool(value any) bool   { _, ok := value.(bool); return ok }
func isTrue(value any) bool   { return value == true }
func isObject(value any) bool { _, ok := value.(object); return ok }
func isAny(any) bool          { return true }

func isCount(value any) bool {
	number, ok := value.(float64)
	return ok && number >= 0 && number == math.Trunc(number) && number <= 1<<53-1
}

func isInstant(value any) bool {
	text, ok := value.(string)
	if !ok || !instantForm.MatchString(text) {
		return false
	}
	_, err := time.Parse("2006-01-02T15:04:05.000Z", text)
	return err == nil
}

func isBase64(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	_, ok = strict(base64.StdEncoding, text)
	return ok
}

// strict decodes the one text that these bytes have: the library's decoders pass over line feeds, even the strict ones.
func strict(encoding *base64.Encoding, text string) ([]byte, bool) {
	bytes, err := encoding.Strict().DecodeString(text)
	return bytes, err == nil && encoding.EncodeToString(bytes) == text
}

// within is an integer from `least` to `most`.
func within(least, most float64) shape {
	return func(value any) bool { return isCount(value) && value.(float64) >= least && value.(float64) <= most }
}

// textOf is a text of 1 to `most` UTF-16 units.
func textOf(most int) shape {
	return func(value any) bool { return isText(value) && len(utf16.Encode([]rune(value.(string)))) <= most }
}

// distinct is such a list with no text twice.
func distinct(least, most int, is shape) shape {
	return func(value any) bool {
		list, _ := value.([]any)
		seen := map[any]bool{}
		if !sized(least, most, is)(value) {
			return false
		}
		for _, each := range list {
			seen[each] = true
		}
		return len(seen) == len(list)
	}
}

// sized is a list of `least` to `most` items.
func sized(least, most int, is shape) shape {
	return func(value any) bool {
		list, ok := value.([]any)
		return ok && len(list) >= least && len(list) <= most && listOf(is)(value)
	}
}

func is(want any) shape { return func(value any) bool { return value == want } }

var (
	isHash    = matches(hashForm)
	isKeyID   = matches(keyIDForm)
	isUUID    = matches(uuidForm)
	isRecord  = matches(recordForm)
	isCountry = matches(countryForm)
	isVersion = within(0, 1<<31-1)
	isOrder   = within(1, 1<<53-1)
	// isAnyType is the form of a record type, of those too that do not exist.
	isAnyType = matches(regexp.MustCompile(`^[a-z_]{1,32}$`))
	isType    = oneOf("products", "business_files", "events", "jobs", "updates")
)

func millis(instant string) int64 {
	at, _ := time.Parse("2006-01-02T15:04:05.000Z", instant)
	return at.UnixMilli()
}

func decode64(value any) []byte {
	text, _ := value.(string)
	bytes, _ := strict(base64.StdEncoding, text)
	return bytes
}

func hashBytes(text string) ([]byte, bool) {
	if !hashForm.MatchString(text) {
		return nil, false
	}
	bytes, err := hex.DecodeString(text[len("sha256:"):])
	return bytes, err == nil
}

func text(o object, name string) string { s, _ := o[name].(string); return s }
func list(o object, name string) []any  { l, _ := o[name].([]any); return l }
func sub(o object, name string) object  { s, _ := o[name].(object); return s }
func count(o object, name string) int64 { n, _ := o[name].(float64); return int64(n) }

package main

import (
	"regexp"
	"strconv"
	"strings"
)

// specifications are the published projection specifications by version, each with the hash that it is pinned to.
var specifications = map[string]object{}

// keepSpecifications takes the specifications from the vectors: the service publishes them, and the hash says which they are.
func keepSpecifications(files []object) {
	for _, file := range files {
		for _, each := range list(file, "cases") {
			document := sub(sub(each.(object), "input"), "document")
			if text(each.(object), "check") == "projection_document" && projectionDocument(any(document)) == "" {
				specifications[text(document, "version")] = document
			}
		}
	}
}

// projection runs the projection of a row again on the exact bytes of its record.
func (t *trust) projection(value any, bytes []byte) refusal {
	if reason := t.row(value, ""); reason != "" {
		return reason
	}
	row := value.(object)
	specification := specifications[text(row, "adl_proj")]
	if specification == nil {
		return "projection_unknown"
	}
	if hashOf(bytes) != text(row, "adl_origin") {
		return "hash_mismatch"
	}
	parsed, ok := parseJSON(bytes)
	record, isObject := parsed.(object)
	if !ok || !isObject {
		return "payload_malformed"
	}
	if text(record, "schema") != text(sub(specification, "definition"), "record_schema") {
		return "record_type_mismatch"
	}
	return projects(specification, row, record)
}

// projects says whether the record gives the members that the row's signature covers.
func projects(specification, row, record object) refusal {
	stated := object{}
	for name, each := range row {
		stated[name] = each
	}
	for _, uncovered := range []string{"unsigned_fields", "serve_time_fields"} {
		for _, name := range list(specification, uncovered) {
			delete(stated, name.(string))
		}
	}
	if canonical(project(specification, row, record)) != canonical(stated) {
		return "hash_mismatch"
	}
	return ""
}

// project gives the members that the rules of the specification give; what is fact is read from the row.
func project(specification, row, record object) object {
	projected := object{}
	for _, each := range list(specification, "rules") {
		rule := each.(object)
		member := text(rule, "member")
		found, isFound := at(record, text(rule, "from"))
		switch text(rule, "rule") {
		case "fact":
			found, isFound = row[member]
			if member == "type" {
				found = specification["record_type"]
			}
		case "seal":
			found, isFound = row[member]
		case "constant":
			found, isFound = rule["value"], true
		case "number":
			found, isFound = numberOf(found)
		case "is_present":
			found, isFound = isFound, true
		case "is_not_empty":
			items, _ := found.([]any)
			found, isFound = len(items) > 0, true
		case "copy_each":
			found, isFound = eachOf(found, text(rule, "each"))
		case "by_country":
			for country, value := range byCountry(rule, found, list(record, "countries")) {
				projected[strings.TrimSuffix(member, "<CC>")+country] = value
			}
			continue
		}
		if isFound {
			projected[member] = found
		}
	}
	return projected
}

// eachOf has the values in the items of an array, each once.
func eachOf(found any, pointer string) (any, bool) {
	items, isArray := found.([]any)
	values, known := []any{}, map[string]bool{}
	for _, item := range items {
		value, ok := at(item, pointer)
		if ok && !known[canonical(value)] {
			known[canonical(value)] = true
			values = append(values, value)
		}
	}
	return values, isArray
}

func byCountry(rule object, found any, countries []any) object {
	values := object{}
	items, _ := found.([]any)
	for _, item := range items {
		country, _ := at(item, text(rule, "country"))
		value, ok := at(item, text(rule, "each"))
		if ok && text(rule, "as") == "number" {
			value, ok = numberOf(value)
		}
		for _, published := range countries {
			if ok && published == country {
				values[country.(string)] = value
			}
		}
	}
	return values
}

var isDecimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func numberOf(value any) (any, bool) {
	digits, ok := value.(string)
	if !ok || !isDecimal.MatchString(digits) {
		return nil, false
	}
	number, err := strconv.ParseFloat(digits, 64)
	return number, err == nil
}

// at follows an RFC 6901 pointer through objects.
func at(value any, pointer string) (any, bool) {
	for _, name := range strings.Split(pointer, "/")[1:] {
		o, _ := value.(object)
		found, ok := o[name]
		if !ok {
			return nil, false
		}
		value = found
	}
	return value, true
}

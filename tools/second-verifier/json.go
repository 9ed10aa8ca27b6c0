package main

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object is a JSON object; its members were distinct.
type object = map[string]any

// parser reads strict JSON: UTF-8, no duplicate members, no lone surrogates, nothing behind the value.
type parser struct {
	text string
	at   int
	// spans has the exact text of each member of the outermost object, with the white space around its value.
	spans map[string]string
	depth int
}

func parseJSON(text []byte) (any, bool) {
	value, _, ok := parseWithSpans(text)
	return value, ok
}

func parseWithSpans(text []byte) (value any, spans map[string]string, ok bool) {
	if !utf8.Valid(text) {
		return nil, nil, false
	}
	defer func() {
		if recover() != nil {
			value, spans, ok = nil, nil, false
		}
	}()
	p := &parser{text: string(text), spans: map[string]string{}}
	p.space()
	value = p.value()
	p.space()
	if p.at != len(p.text) {
		return nil, nil, false
	}
	return value, p.spans, true
}

func (p *parser) fail() { panic(fmt.Sprintf("not JSON at %d", p.at)) }

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) peek() byte {
	if p.at >= len(p.text) {
		p.fail()
	}
	return p.text[p.at]
}

func (p *parser) expect(word string) {
	if !strings.HasPrefix(p.text[p.at:], word) {
		p.fail()
	}
	p.at += len(word)
}

func (p *parser) value() any {
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.string()
	case c == 't':
		p.expect("true")
		return true
	case c == 'f':
		p.expect("false")
		return false
	case c == 'n':
		p.expect("null")
		return nil
	default:
		return p.number()
	}
}

// depthMax is how deep arrays and objects may be nested.
const depthMax = 64

func (p *parser) deeper() {
	if p.depth++; p.depth > depthMax {
		p.fail()
	}
}

func (p *parser) object() any {
	members := object{}
	p.deeper()
	outermost := p.depth == 1
	p.at++
	p.space()
	if p.peek() == '}' {
		p.at++
		p.depth--
		return members
	}
	for {
		p.space()
		if p.peek() != '"' {
			p.fail()
		}
		name := p.string()
		if _, twice := members[name]; twice {
			p.fail()
		}
		p.space()
		p.expect(":")
		begin := p.at
		p.space()
		members[name] = p.value()
		p.space()
		if outermost {
			p.spans[name] = p.text[begin:p.at]
		}
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.expect("}")
		p.depth--
		return members
	}
}

func (p *parser) array() any {
	list := []any{}
	p.deeper()
	p.at++
	p.space()
	if p.peek() == ']' {
		p.at++
		p.depth--
		return list
	}
	for {
		p.space()
		list = append(list, p.value())
		p.space()
		if p.peek() == ',' {
			p.at++
			continue
		}
		p.expect("]")
		p.depth--
		return list
	}
}

func (p *parser) string() string {
	p.at++
	var out strings.Builder
	for {
		c := p.peek()
		switch {
		case c == '"':
			p.at++
			return out.String()
		case c < 0x20:
			p.fail()
		case c != '\\':
			out.WriteByte(c)
			p.at++
		default:
			p.at++
			escaped := p.peek()
			p.at++
			if escaped == 'u' {
				out.WriteRune(p.escape())
				continue
			}
			index := strings.IndexByte(`"\/bfnrt`, escaped)
			if index < 0 {
				p.fail()
			}
			out.WriteByte("\"\\/\b\f\n\r\t"[index])
		}
	}
}

func (p *parser) escape() rune {
	unit := p.hex4()
	if !utf16.IsSurrogate(unit) {
		return unit
	}
	p.expect(`\u`)
	pair := utf16.DecodeRune(unit, p.hex4())
	if pair == utf8.RuneError {
		p.fail()
	}
	return pair
}

func (p *parser) hex4() rune {
	if p.at+4 > len(p.text) {
		p.fail()
	}
	unit, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
	if err != nil {
		p.fail()
	}
	p.at += 4
	return rune(unit)
}

func (p *parser) number() any {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte("+-0123456789.eE", p.text[p.at]) >= 0 {
		p.at++
	}
	text := p.text[begin:p.at]
	if !numberForm.MatchString(text) {
		p.fail()
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(number, 0) {
		p.fail()
	}
	return number
}

// canonical is the RFC 8785 text of a value.
func canonical(value any) string {
	var out strings.Builder
	writeCanonical(&out, value)
	return out.String()
}

func writeCanonical(out *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(v))
	case float64:
		out.WriteString(formatNumber(v))
	case string:
		writeString(out, v)
	case []any:
		out.WriteByte('[')
		for i, each := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			writeCanonical(out, each)
		}
		out.WriteByte(']')
	case object:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Slice(names, func(a, b int) bool { return lessUTF16(names[a], names[b]) })
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			writeString(out, name)
			out.WriteByte(':')
			writeCanonical(out, v[name])
		}
		out.WriteByte('}')
	}
}

func lessUTF16(a, b string) bool {
	x, y := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
	for i := 0; i < len(x) && i < len(y); i++ {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}

func writeString(out *strings.Builder, text string) {
	out.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteRune(c)
		case c == '\b':
			out.WriteString(`\b`)
		case c == '\f':
			out.WriteString(`\f`)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c < 0x20:
			fmt.Fprintf(out, `\u%04x`, c)
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
}

// formatNumber writes a number as ECMAScript does (RFC 8785 §3.2.2.3).
func formatNumber(value float64) string {
	if value == 0 {
		return "0"
	}
	magnitude := math.Abs(value)
	if magnitude >= 1e-6 && magnitude < 1e21 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	text := strconv.FormatFloat(value, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

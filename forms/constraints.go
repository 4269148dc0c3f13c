package forms

import (
	"fmt"
	"slices"

	"askback/internal/strictjson"
)

// readType narrows p by a type keyword: a name, or a list of names.
func (p *property) readType(val strictjson.Value) {
	p.decided = true
	names := []strictjson.Value{val}
	if val.Kind() == strictjson.Array {
		names = slices.Collect(val.Elements())
	}
	var types jsonTypes
	for _, n := range names {
		name, _ := n.Text()
		t, ok := typesByName[name]
		if !ok {
			p.reject("type", "must be string, number, integer, boolean or array")
			return
		}
		types |= t
	}
	p.types &= types
}

// readEnum narrows p to a list of strings, with the labels of a legacy
// enumNames beside it. A null among them is for a nullable type and is never
// sent.
func (p *property) readEnum(schema, val strictjson.Value, lim Limits) {
	if val.Kind() != strictjson.Array {
		p.reject("enum", "must be a list of strings")
		return
	}
	labels := enumNames(schema, val.Len())
	if _, given := schema.Get("enumNames"); given && labels == nil {
		p.saw("enumNames") // not used, which is worth knowing
	}
	nullable := schemaAllowsNull(schema)
	var list choiceList
	i := 0
	for e := range val.Elements() {
		s, err := e.Text()
		switch {
		case err == nil:
			o := Option{Value: s, Label: s}
			if labels != nil {
				o.Label = labels[i]
			}
			if !list.add(o) {
				p.changed.add(optionRepeated, s)
			}
		case e.Kind() == strictjson.Null && nullable:
		default:
			p.reject("enum", "only strings can be chosen from; write them as text")
			return
		}
		i++
	}
	p.restrictTo("enum", list.options, lim)
}

// enumNames are the labels of a legacy enum; nil when there are none, or not
// as many as there are values.
func enumNames(schema strictjson.Value, n int) []string {
	val, ok := schema.Get("enumNames")
	if !ok || val.Kind() != strictjson.Array || val.Len() != n {
		return nil
	}
	labels := make([]string, 0, n)
	for e := range val.Elements() {
		s, err := e.Text()
		if err != nil {
			return nil
		}
		labels = append(labels, s)
	}
	return labels
}

func schemaAllowsNull(schema strictjson.Value) bool {
	val, _ := schema.Get("type")
	for e := range val.Elements() {
		if s, err := e.Text(); err == nil && s == "null" {
			return true
		}
	}
	return false
}

// choiceList is a list of options whose values count once.
type choiceList struct {
	options []Option
	seen    map[string]bool
}

func (l *choiceList) add(o Option) (first bool) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if l.seen[o.Value] {
		return false
	}
	l.seen[o.Value] = true
	l.options = append(l.options, o)
	return true
}

// restrictTo narrows p to options that were listed by keyword.
func (p *property) restrictTo(keyword string, options []Option, lim Limits) {
	switch {
	case len(options) == 0:
		p.reject(keyword, "lists nothing to choose from")
	case len(options) > lim.Options:
		p.reject(keyword, fmt.Sprintf("lists %d options, at most %d are allowed", len(options), lim.Options))
	default:
		p.restrict(keyword, options)
	}
}

// readChoices narrows p to a list of {"const","title"}, the value of oneOf or
// of an anyOf under items.
func (p *property) readChoices(keyword string, val strictjson.Value, lim Limits) {
	if val.Kind() != strictjson.Array {
		p.reject(keyword, `must be a list of {"const","title"}`)
		return
	}
	var list choiceList
	for e := range val.Elements() {
		o, titled, why := choiceFrom(e)
		if why != "" {
			p.reject(keyword, why)
			return
		}
		switch first := list.add(o); {
		case !first && keyword == "oneOf":
			// A value that matches two of oneOf matches none of it.
			p.reject(keyword, fmt.Sprintf("lists the value %s twice, so that no answer matches exactly one; list it once", quoteName(o.Value)))
			return
		case !first:
			p.changed.add(optionRepeated, o.Value)
		case !titled:
			p.changed.add(optionUntitled, o.Value)
		}
	}
	p.restrictTo(keyword, list.options, lim)
}

// choiceFrom reads one {"const","title"}; why says what is wrong with it.
func choiceFrom(v strictjson.Value) (o Option, titled bool, why string) {
	const shape = `must hold {"const","title"} objects with a string const`
	c, ok := v.Get("const")
	if !ok {
		return o, false, shape
	}
	text, err := c.Text()
	if err != nil {
		return o, false, shape
	}
	o = Option{Value: text, Label: text}
	for key, val := range v.Members() {
		switch key {
		case "const":
		case "title":
			if s, err := val.Text(); err == nil {
				o.Label, titled = s, true
			}
		case "description":
			o.Description, _ = val.Text()
		case "type":
			if s, err := val.Text(); err != nil || s != "string" {
				return o, false, shape
			}
		default:
			// A string keyword narrows one entry to nothing or leaves
			// it; any other entry than a plain one is refused.
			if types, ok := constraint[key]; ok && types&typeString != 0 && key != "format" {
				return o, false, fmt.Sprintf("holds an entry with %s; an entry can have a const and a title", quoteName(key))
			}
			if key == "format" {
				if s, err := val.Text(); err == nil && Format(s).check(text) != "" {
					return o, false, "holds an entry whose const does not have its format"
				}
			}
		}
	}
	return o, titled, ""
}

// readBound reads a length, a count, a number or a format.
func (p *property) readBound(key string, val strictjson.Value) {
	count := func(at **int, pick func(a, b int) int) {
		n, err := countFrom(val)
		if err != nil {
			p.reject(key, err.Error())
			return
		}
		*at = tighter(*at, &n, pick)
	}
	number := func() (*Number, bool) {
		n, err := numberFromJSON(val)
		if err != nil {
			p.reject(key, err.Error())
			return nil, false
		}
		return &n, true
	}
	switch key {
	case "minLength":
		count(&p.minLength, larger)
	case "maxLength":
		count(&p.maxLength, smaller)
	case "minItems":
		count(&p.minItems, larger)
	case "maxItems":
		count(&p.maxItems, smaller)
	case "uniqueItems":
		if val.Kind() != strictjson.Boolean {
			p.reject(key, "must be true or false")
		}
	case "format":
		if s, err := val.Text(); err != nil {
			p.reject(key, "must be a string")
		} else {
			p.absorbFormat(s)
		}
	case "minimum":
		if n, ok := number(); ok {
			p.minimum = higher(p.minimum, n)
		}
	case "maximum":
		if n, ok := number(); ok {
			p.maximum = lower(p.maximum, n)
		}
	case "exclusiveMinimum":
		if n, ok := number(); ok {
			p.above = higher(p.above, n)
		}
	case "exclusiveMaximum":
		if n, ok := number(); ok {
			p.below = lower(p.below, n)
		}
	case "multipleOf":
		if n, ok := number(); ok {
			p.multiples = append(p.multiples, *n)
		}
	}
}

package forms

import (
	"fmt"

	"askback/internal/strictjson"
)

// builder makes a field of a property and collects what is wrong with it.
type builder struct {
	name    string
	lim     Limits
	ignored []string
	known   map[string]bool // of ignored
	hint    string
	dropped string // why the default is not used
	changed changes
	errs    SchemaErrors
	choices string // the keyword that lists the choices
}

func (b *builder) refuse(keyword, format string, args ...any) {
	b.errs = append(b.errs, &SchemaError{Field: b.name, Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// build is the field that p means. It is complete only when b has no errors.
func (b *builder) build(p *property, required bool) Field {
	kind := b.kindOf(p)
	if kind == "" {
		return Field{}
	}
	fd := Field{Kind: kind, Name: b.name, Required: required}
	switch kind {
	case KindString:
		b.judge(p, typeString)
		fd.MinLength, fd.MaxLength = p.minLength, p.maxLength
		if fd.MaxLength != nil && *fd.MaxLength > maxValueRunes {
			most := maxValueRunes
			fd.MaxLength = &most
			b.changed.add(fmt.Sprintf("has a maxLength above %d, the most that a text may have, and gets that", most))
		}
		if f := Format(p.format); f.known() {
			fd.Format = f
		} else {
			b.hint = p.format
		}
	case KindNumber:
		b.judge(p, typeNumber)
		fd.Minimum, fd.Maximum = p.minimum, p.maximum
	case KindInteger:
		b.judge(p, typeInteger)
		fd.Minimum, fd.Maximum = p.integerRange()
	case KindBoolean:
		b.judge(p, typeBoolean)
	case KindSingleSelect:
		b.judge(p, typeString)
		fd.Options = b.options(p)
	case KindMultiSelect:
		b.judge(p, typeArray)
		b.judge(p.items, typeString)
		fd.Options = b.options(p.items)
		fd.MinItems, fd.MaxItems = p.minItems, p.maxItems
	}
	if len(b.errs) > 0 {
		return fd
	}
	b.describe(&fd, p)
	b.admit(&fd, p)
	fd.Default, b.dropped = defaultOf(&fd, p.def)
	return fd
}

// kindOf is the kind that p means, or "" with the reason in b.
func (b *builder) kindOf(p *property) Kind {
	types := p.types &^ typeNull
	if p.restricted != "" && types&typeString != 0 {
		b.choices = p.restricted
		return KindSingleSelect
	}
	switch {
	case len(p.bad) > 0 && types == anyType&^typeNull, p.bad["type"] != "", p.bad["enum"] != "", p.bad["const"] != "":
		b.refuseBad(p)
	case !p.decided:
		b.refuse("type", "has none of type, enum, const, oneOf and $ref; say what kind of answer is wanted")
	case p.restricted != "":
		b.refuse(p.restricted, "lists strings, but the type allows none")
	case types == typeString:
		return KindString
	case types == typeNumber:
		return KindNumber
	case types == typeInteger:
		return KindInteger
	case types == typeBoolean:
		return KindBoolean
	case types == typeArray:
		return b.listKind(p)
	case types == typeObject:
		b.refuse("type", "a nested object cannot be asked for; ask for its members as fields of their own")
	case types == 0:
		b.refuse("type", "leaves no value that can be an answer")
	default:
		b.refuse("type", "allows several types; choose one (null beside it is fine)")
	}
	return ""
}

// listKind is multi_select where the items list their choices.
func (b *builder) listKind(p *property) Kind {
	items := p.items
	switch {
	case p.bad["items"] != "":
		b.refuse("items", "%s", p.bad["items"])
	case items == nil:
		b.refuse("items", "a list needs items that list the choices")
	case items.restricted != "" && items.types&typeString != 0:
		b.choices = items.restricted
		return KindMultiSelect
	case len(items.bad) > 0:
		b.refuseBad(items)
	default:
		b.refuse("items", "a list of free values cannot be asked for; list the choices with enum, or with anyOf of const and title")
	}
	return ""
}

func (b *builder) refuseBad(p *property) {
	for _, k := range p.keywords {
		if why, ok := p.bad[k]; ok {
			b.refuse(k, "%s", why)
		}
	}
}

// judge goes through the keywords of p, now that its type is known: one that
// cannot apply is ignored, one that a field cannot hold refuses the form.
func (b *builder) judge(p *property, actual jsonTypes) {
	for _, k := range p.keywords {
		types, constrains := constraint[k]
		switch {
		case !constrains || types&actual == 0:
			b.ignore(k)
		case p.bad[k] != "":
			b.refuse(k, "%s", p.bad[k])
		case !understood[k]:
			b.refuse(k, "constrains the answer in a way that a form cannot check; leave it out or check it in the tool")
		case k == "multipleOf" && !p.onlyOnes(actual):
			b.refuse(k, "a form cannot check multiples; leave it out or check it in the tool")
		case k == "exclusiveMinimum" && actual == typeNumber:
			b.refuse(k, "a number can only have minimum, which is included")
		case k == "exclusiveMaximum" && actual == typeNumber:
			b.refuse(k, "a number can only have maximum, which is included")
		case k == "format" && !Format(p.format).known():
			b.ignore(k)
		}
	}
}

func (b *builder) ignore(keyword string) {
	if b.known[keyword] {
		return
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[keyword] = true
	b.ignored = append(b.ignored, keyword)
}

// onlyOnes reports whether every multipleOf is 1, on an integer.
func (p *property) onlyOnes(actual jsonTypes) bool {
	for _, n := range p.multiples {
		if actual != typeInteger || n.Cmp(NumberOf(1)) != 0 {
			return false
		}
	}
	return true
}

// integerRange is the range of an integer with the exclusive bounds moved to
// the next whole number. The tighter bound wins.
func (p *property) integerRange() (low, high *Number) {
	low, high = plainBound(p.minimum), plainBound(p.maximum)
	// A bound that every integer meets, such as that of 64 bits, is none.
	if low != nil && low.Cmp(smallestInteger) < 0 {
		low = nil
	}
	if high != nil && high.Cmp(largestInteger) > 0 {
		high = nil
	}
	if p.above != nil {
		low = higher(low, beyond(*p.above, true))
	}
	if p.below != nil {
		high = lower(high, beyond(*p.below, false))
	}
	return low, high
}

// beyond is the first whole number above n (up) or below it. A bound outside
// the integers that can be answered stays as it is where it allows none of
// them, and is nil where it allows all.
func beyond(n Number, up bool) *Number {
	low, high := n.Cmp(smallestInteger) < 0, n.Cmp(largestInteger) > 0
	switch {
	case up && low, !up && high:
		return nil
	case low, high:
	case up:
		n = n.floor().add(1)
	default:
		n = n.ceil().add(-1)
	}
	return &n
}

// plainBound is a bound in plain digits where it is a whole number.
func plainBound(n *Number) *Number {
	if n == nil || !n.isSafeInteger() {
		return n
	}
	plain := n.plain()
	return &plain
}

// options are the choices that meet the other keywords of p, with labels that
// can be told apart.
func (b *builder) options(p *property) []Option {
	out := make([]Option, 0, len(p.choices))
	b.changed.addAll(p.changed)
	for _, o := range p.choices {
		if !p.allows(o.Value) {
			b.changed.add(optionRuledOut, o.Value)
			continue
		}
		b.optionWords(&o)
		out = append(out, o)
	}
	if len(out) == 0 {
		b.refuse(p.restricted, "lists no choice that the other keywords allow")
	}
	for _, label := range tellApart(out, b.lim.Label) {
		b.changed.add(optionToldApart, label)
	}
	return out
}

// optionWords cuts the words of an option to their limits.
func (b *builder) optionWords(o *Option) {
	switch {
	case o.Label != o.Value && isBlank(o.Label): // an enum's empty value is meant to be seen as one
		b.changed.add(optionBlank, o.Value)
	case len(o.Label) > b.lim.Label:
		b.changed.add(optionLabelCut, o.Value)
	}
	if len(o.Description) > b.lim.Description {
		b.changed.add(optionDescriptionCut, o.Value)
	}
	o.Label = b.label(o.Label, o.Value)
	o.Description = cutTo(o.Description, b.lim.Description)
}

// label is a label cut to its limit; one that shows nothing is the quoted
// value.
func (b *builder) label(label, value string) string {
	if isBlank(label) {
		label = `"` + cutTo(value, b.lim.Label-2) + `"`
	}
	return cutTo(label, b.lim.Label)
}

// describe gives the field its words.
func (b *builder) describe(fd *Field, p *property) {
	label := p.title
	if !p.hasTitle {
		label = b.name
	}
	fd.Label = b.label(label, b.name)
	if len(label) > b.lim.Label && p.hasTitle && !isBlank(label) {
		b.changed.cut("title", len(label), b.lim.Label)
	}
	hint, most := "", b.lim.Description
	if b.hint != "" {
		hint = "format: " + cutTo(b.hint, 80)
		if p.description != "" {
			hint = " (" + hint + ")"
		}
		most -= len(hint)
	}
	fd.Description = cutTo(cutTo(p.description, most)+hint, b.lim.Description)
	if len(p.description) > most {
		b.changed.cut("description", len(p.description), most)
	}
}

// admit refuses a field that no answer could satisfy.
func (b *builder) admit(fd *Field, p *property) {
	for _, e := range fd.admit(b.lim) {
		keyword := e.Rule
		switch e.Rule {
		case RuleOptions, RuleUnique:
			keyword = b.choices
		case RuleMinimum:
			keyword = p.rangeKeyword()
		case RuleSize:
			keyword = "properties"
		}
		b.refuse(keyword, "%s", e.Message)
	}
}

// rangeKeyword is the keyword that a range which is empty is told of.
func (p *property) rangeKeyword() string {
	switch {
	case p.minimum != nil:
		return "minimum"
	case p.above != nil:
		return "exclusiveMinimum"
	case p.maximum != nil:
		return "maximum"
	}
	return "exclusiveMaximum"
}

// defaultOf is the default that the field starts with: none, with the reason,
// where the server's does not satisfy the field or is a text that would not be
// shown as it is; null is none without a reason. One value for a multi_select
// is a list of one.
func defaultOf(fd *Field, raw strictjson.Value) (def Value, dropped string) {
	if raw.IsZero() || raw.Kind() == strictjson.Null {
		return Value{}, ""
	}
	v, ok, err := valueFrom(raw)
	if err != nil || !ok {
		return Value{}, "is no text, number, boolean or list of texts"
	}
	if fd.Kind == KindMultiSelect && v.Type() == Text {
		v = ListValue([]string{v.text})
	}
	v = canonical(fd.Kind, v)
	if e := fd.check(v); e != nil {
		return Value{}, e.Message
	}
	if fd.Kind == KindString && Block(v.text) != v.text {
		return Value{}, "holds characters that are not shown as they are"
	}
	return v, ""
}

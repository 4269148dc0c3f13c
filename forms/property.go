package forms

import (
	"unicode/utf8"

	"askback/internal/strictjson"
)

// property is what is known about a value from its schema and everything that
// the schema refers to: the conjunction of all of it.
type property struct {
	types    jsonTypes // what the type keywords leave
	decided  bool      // a keyword says what the value is
	keywords []string  // constraints and unknown keywords, in order of sight
	seen     map[string]bool
	bad      map[string]string

	title, description string
	hasTitle, hasDescr bool
	def                strictjson.Value

	choices    []Option // the strings that are allowed, when restricted
	restricted string   // the keyword that restricts to choices, "" when none
	changed    changes  // what of the choices is not as it was listed

	minLength, maxLength *int
	format               string
	minimum, maximum     *Number
	above, below         *Number // exclusive bounds
	multiples            []Number
	minItems, maxItems   *int
	items                *property
}

// saw notes a keyword once.
func (p *property) saw(keyword string) {
	if p.seen[keyword] {
		return
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[keyword] = true
	p.keywords = append(p.keywords, keyword)
}

// reject notes that a keyword cannot be met as it stands. Whether that refuses
// the form depends on the type, which is not known yet.
func (p *property) reject(keyword, why string) {
	if p.bad == nil {
		p.bad = map[string]string{}
	}
	if _, ok := p.bad[keyword]; !ok {
		p.bad[keyword] = why
	}
	p.saw(keyword)
}

// restrict narrows p to the given strings.
func (p *property) restrict(keyword string, choices []Option) {
	if p.restricted == "" {
		p.choices, p.restricted = choices, keyword
		return
	}
	allowed := make(map[string]Option, len(choices))
	for _, o := range choices {
		allowed[o.Value] = o
	}
	both := make([]Option, 0, min(len(p.choices), len(choices)))
	for _, o := range p.choices {
		other, ok := allowed[o.Value]
		if !ok {
			p.changed.add(optionRuledOut, o.Value)
			continue
		}
		delete(allowed, o.Value)
		// The side that has a label of its own gives it.
		if o.Label == o.Value {
			o.Label = other.Label
		}
		if o.Description == "" {
			o.Description = other.Description
		}
		both = append(both, o)
	}
	for _, o := range choices {
		if _, left := allowed[o.Value]; left {
			p.changed.add(optionRuledOut, o.Value)
		}
	}
	p.choices = both
}

// absorb narrows p by q, which it refers to. Where both say something, the
// tighter bound holds, and p's own words.
func (p *property) absorb(q *property) {
	p.types &= q.types
	p.decided = p.decided || q.decided
	for _, k := range q.keywords {
		p.saw(k)
	}
	for k, why := range q.bad {
		p.reject(k, why)
	}
	if !p.hasTitle && q.hasTitle {
		p.title, p.hasTitle = q.title, true
	}
	if !p.hasDescr && q.hasDescr {
		p.description, p.hasDescr = q.description, true
	}
	if p.def.IsZero() {
		p.def = q.def
	}
	if q.restricted != "" {
		p.restrict(q.restricted, q.choices)
	}
	p.changed.addAll(q.changed)
	p.minLength = tighter(p.minLength, q.minLength, larger)
	p.maxLength = tighter(p.maxLength, q.maxLength, smaller)
	p.minItems = tighter(p.minItems, q.minItems, larger)
	p.maxItems = tighter(p.maxItems, q.maxItems, smaller)
	p.minimum = higher(p.minimum, q.minimum)
	p.above = higher(p.above, q.above)
	p.maximum = lower(p.maximum, q.maximum)
	p.below = lower(p.below, q.below)
	p.multiples = append(p.multiples, q.multiples...)
	p.absorbFormat(q.format)
	switch {
	case p.items == nil:
		p.items = q.items
	case q.items != nil:
		p.items.absorb(q.items)
	}
}

func (p *property) absorbFormat(format string) {
	switch {
	case format == "" || format == p.format:
	case !Format(p.format).known():
		p.format = format // an unknown one constrains nothing
	case Format(format).known():
		p.reject("format", "asks for two different formats")
	}
}

func tighter(a, b *int, pick func(a, b int) int) *int {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	n := pick(*a, *b)
	return &n
}

func higher(a, b *Number) *Number {
	if a == nil || b != nil && b.Cmp(*a) > 0 {
		return b
	}
	return a
}

func lower(a, b *Number) *Number {
	if a == nil || b != nil && b.Cmp(*a) < 0 {
		return b
	}
	return a
}

// allows reports whether the string constraints of p let a choice through.
func (p *property) allows(value string) bool {
	n := utf8.RuneCountInString(value)
	if p.minLength != nil && n < *p.minLength || p.maxLength != nil && n > *p.maxLength {
		return false
	}
	return Format(p.format).check(value) == ""
}

func larger(a, b int) int  { return max(a, b) }
func smaller(a, b int) int { return min(a, b) }

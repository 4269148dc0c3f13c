package forms

// Limits bound a form and its answers. They are a value, since a foreign Host
// may be stricter than ours. Texts are measured in bytes before the display
// projection; JSON sizes are those of [Form.Encode] and [Result.Encode].
type Limits struct {
	Fields      int // fields of a form
	Options     int // options of one field
	Message     int // bytes of the message
	Requester   int // bytes of the requester's name
	Source      int // bytes of the requester's source
	Label       int // bytes of a label of a field or option
	Description int // bytes of the description of a field or option
	Request     int // bytes of one form as JSON
	Answer      int // bytes of one answer, and of one outcome, as JSON
}

// What no Host changes: field names are identities, and values are what MCP
// servers get.
const (
	maxName       = 256  // bytes of a field name
	maxValueRunes = 2048 // code points of a string value, default, option value
	maxValueBytes = 8192 // its bytes
)

// OurLimits are the limits of our own Host: answers of 64 KiB, 256 options.
func OurLimits() Limits {
	return Limits{
		Fields: 32, Options: 256,
		Message: 8192, Requester: 256, Source: 512, Label: 256, Description: 512,
		Request: 16 << 10, Answer: 64 << 10,
	}
}

// ForeignLimits are the limits where the Host is not ours: answers of 8 KiB, 64
// options.
func ForeignLimits() Limits {
	lim := OurLimits()
	lim.Options, lim.Answer = 64, 8<<10
	return lim
}

// Projected are lim for a form that went through the display projection, which
// may make a shown text up to four times as long.
func (lim Limits) Projected() Limits {
	const growth = 4
	lim.Message *= growth
	lim.Requester *= growth
	lim.Source *= growth
	lim.Label *= growth
	lim.Description *= growth
	// As JSON a DEL is one byte and `\\x7f` five, and labels that became equal
	// are followed by their values.
	lim.Request *= 2 * (growth + 1)
	return lim
}

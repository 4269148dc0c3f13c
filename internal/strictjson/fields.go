package strictjson

// Fields reads an object of an exact shape: take the members by name, then ask
// [Fields.Done], which refuses what was not taken. The first error sticks and
// everything after it is a no-op, so that a decoder needs one check at the end.
//
//	f := strictjson.Read(v)
//	name := f.Text("name")
//	note, ok := f.OptText("note")
//	if err := f.Done(); err != nil { … }
//
// A Fields is for one goroutine.
type Fields struct {
	members []fieldMember
	taken   uint64 // a bit for each member
	err     error
	few     [8]fieldMember // room for most objects, to save an allocation
}

type fieldMember struct {
	key string
	val Value
}

// mostMembers is how many members an object of an exact shape may have.
const mostMembers = 64

// Read prepares the members of an object. An object of more than 64 members
// has no exact shape here and is refused.
func Read(v Value) *Fields {
	f := &Fields{}
	if f.err = v.Want(Object); f.err != nil {
		return f
	}
	f.members = f.few[:0]
	for k, val := range v.Members() {
		if len(f.members) == mostMembers {
			f.err = Bad("has more keys than it can have")
			return f
		}
		f.members = append(f.members, fieldMember{k, val})
	}
	return f
}

// Opt takes the member named key if there is one.
func (f *Fields) Opt(key string) (Value, bool) {
	if f.err != nil {
		return Value{}, false
	}
	for i := range f.members {
		if m := &f.members[i]; m.key == key {
			f.taken |= 1 << i
			return m.val, true
		}
	}
	return Value{}, false
}

// Need takes the member named key; its absence is an error.
func (f *Fields) Need(key string) Value {
	v, ok := f.Opt(key)
	if !ok && f.err == nil {
		f.err = Missing(key)
	}
	return v
}

// Has reports whether there is a member named key, without taking it.
func (f *Fields) Has(key string) bool {
	for i := range f.members {
		if f.members[i].key == key {
			return true
		}
	}
	return false
}

// Skip takes the named members without looking at them.
func (f *Fields) Skip(keys ...string) {
	for _, k := range keys {
		f.Opt(k)
	}
}

// Text takes a string that must be there.
func (f *Fields) Text(key string) string {
	v := f.Need(key)
	if f.err != nil {
		return ""
	}
	s, err := v.Text()
	f.Fail(key, err)
	return s
}

// OptText takes a string that may be absent.
func (f *Fields) OptText(key string) (string, bool) {
	v, ok := f.Opt(key)
	if !ok {
		return "", false
	}
	s, err := v.Text()
	f.Fail(key, err)
	return s, f.err == nil
}

// Bool takes a boolean that must be there.
func (f *Fields) Bool(key string) bool {
	v := f.Need(key)
	if f.err != nil {
		return false
	}
	b, err := v.Bool()
	f.Fail(key, err)
	return b
}

// OptBool takes a boolean that may be absent.
func (f *Fields) OptBool(key string) (val, ok bool) {
	v, ok := f.Opt(key)
	if !ok {
		return false, false
	}
	b, err := v.Bool()
	f.Fail(key, err)
	return b, f.err == nil
}

// Int takes a whole number in plain digits that must be there.
func (f *Fields) Int(key string) int64 {
	v := f.Need(key)
	if f.err != nil {
		return 0
	}
	n, err := v.Int()
	f.Fail(key, err)
	return n
}

// OptInt takes a whole number in plain digits that may be absent.
func (f *Fields) OptInt(key string) (int64, bool) {
	v, ok := f.Opt(key)
	if !ok {
		return 0, false
	}
	n, err := v.Int()
	f.Fail(key, err)
	return n, f.err == nil
}

// Fail records err, which belongs to the member named key, unless err is nil
// or there was an error before. An empty key means the object itself.
func (f *Fields) Fail(key string, err error) {
	if f.err != nil || err == nil {
		return
	}
	if key == "" {
		f.err = err
		return
	}
	f.err = At(key, err)
}

// Err is the first error so far.
func (f *Fields) Err() error { return f.err }

// Done is the first error, or the refusal of a member that was not taken.
func (f *Fields) Done() error {
	if f.err != nil {
		return f.err
	}
	for i := range f.members {
		if f.taken&(1<<i) == 0 {
			f.err = Unknown(f.members[i].key)
			break
		}
	}
	return f.err
}

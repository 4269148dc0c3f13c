package strictjson

// The scanners below walk text that jsontext has accepted. They rely on its
// grammar being right and look for borders only.

// trim cuts JSON blanks off both ends.
func trim(b []byte) []byte {
	i, j := 0, len(b)
	for i < j && isBlank(b[i]) {
		i++
	}
	for j > i && isBlank(b[j-1]) {
		j--
	}
	return b[i:j]
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipBlanks is the first index at or after i that is no blank.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return i
}

// skipString is the index after the string that opens at i; the end of b when
// the string does not end.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}

// skipValue is the index after the value that starts at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// skipNested is the index after the array or object that opens at i.
func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// member finds the next member of an object at or after i: its key with
// quotes, its value, and where the search goes on; next is negative after the
// last member.
func member(b []byte, i int) (key, val []byte, next int) {
	if i = nextItem(b, i); i < 0 {
		return nil, nil, -1
	}
	end := skipString(b, i)
	key = b[i:end]
	i = skipBlanks(b, end)
	i = skipBlanks(b, i+1) // the colon
	end = skipValue(b, i)
	return key, b[i:end], end
}

// element finds the next element of an array at or after i, as member does.
func element(b []byte, i int) (val []byte, next int) {
	if i = nextItem(b, i); i < 0 {
		return nil, -1
	}
	end := skipValue(b, i)
	return b[i:end], end
}

// nextItem skips blanks and a comma; it is negative at the closing bracket.
func nextItem(b []byte, i int) int {
	i = skipBlanks(b, i)
	if i < len(b) && b[i] == ',' {
		i = skipBlanks(b, i+1)
	}
	if i >= len(b) || b[i] == '}' || b[i] == ']' {
		return -1
	}
	return i
}

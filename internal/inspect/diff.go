package inspect

import "strings"

// Change is one line of a Diff.
type Change struct {
	Mark byte // ' ' in both, '-' in the first only, '+' in the second only
	Text string
}

// maxDiffCells bounds the table of one Diff; beyond it the two texts stand one after the other.
const maxDiffCells = 4 << 20

// Diff compares two messages line by line, as Pretty sets them: a retry against its original, above all.
func Diff(a, b *Message) []Change {
	x, y := strings.Split(Pretty(a.Raw), "\n"), strings.Split(Pretty(b.Raw), "\n")
	var head, tail []Change
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		head = append(head, Change{' ', x[0]})
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		tail = append(tail, Change{' ', x[len(x)-1]})
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	out := append(head, middle(x, y)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

// middle is the longest common subsequence of what differs at both ends.
func middle(x, y []string) []Change {
	var out []Change
	if (len(x)+1)*(len(y)+1) > maxDiffCells {
		for _, s := range x {
			out = append(out, Change{'-', s})
		}
		for _, s := range y {
			out = append(out, Change{'+', s})
		}
		return out
	}
	w := len(y) + 1
	common := make([]int32, (len(x)+1)*w)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, Change{' ', x[i]})
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[(i+1)*w+j] >= common[i*w+j+1]:
			out = append(out, Change{'-', x[i]})
			i++
		default:
			out = append(out, Change{'+', y[j]})
			j++
		}
	}
	return out
}

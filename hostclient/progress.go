package hostclient

import (
	"math"

	"askback/protocol"
)

// percentSteps is the total that stands for one which cannot be sent as it is.
const percentSteps = 100

// progress turns what a tool says about its progress into what the protocol allows: whole steps, a total of 1 to 1024
// that never changes, a count that never falls.
type progress struct {
	total   int // 0: nothing was said yet
	current int
	sent    int
	began   bool // something was sent
	scale   bool // total stands for another one
}

// advance takes a report in. One without a usable total says nothing that could be shown.
func (p *progress) advance(current, total float64) {
	if !(total > 0) || math.IsInf(total, 0) || math.IsNaN(current) {
		return
	}
	if p.total == 0 {
		p.total = percentSteps
		p.scale = true
		if total == math.Trunc(total) && current == math.Trunc(current) && total <= protocol.MaxProgressTotal {
			p.total, p.scale = int(total), false
		}
	}
	if p.scale || total != float64(p.total) {
		current = current / total * float64(p.total)
	}
	p.current = max(p.current, int(min(max(current, 0), float64(p.total))))
}

// fresh reports whether there is something to send that was not sent.
func (p *progress) fresh() bool { return p.total > 0 && (!p.began || p.current > p.sent) }

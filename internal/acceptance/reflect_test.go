package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"askback/internal/acceptance/peer"
)

// The states of the servers that tell what they should not. The second one's text is not its token.
const (
	stateOne    = "state-of-the-first-round-0001"
	stateTwo    = "state-of-the-second-é-0002"
	stateTwoRaw = `st\u0061te-of-the-second-\u00e9-0002`
)

// reflecting are the scripts of servers that give their states back wherever they can.
var reflecting = map[string][]string{
	"result": {peer.Round(`"`+stateOne+`"`, peer.Form("k", "v")), peer.Round(`"`+stateTwoRaw+`"`, peer.Form("k", "w")),
		`{"resultType":"complete","content":[{"type":"text","text":"done ` + stateOne + ` ` + stateTwoRaw + `"}],"structuredContent":{"one":"` + stateOne + `","two":["x ` + stateTwo + `"]},"_meta":{"m":"` + stateOne + `"}}`},
	"iserror": {peer.Round(`"`+stateOne+`"`, peer.Form("k", "v")), `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"failed with ` + stateOne + `"}]}`},
	"error":   {peer.Round(`"`+stateTwoRaw+`"`, peer.Form("k", "v")), `error:{"code":-32000,"message":"lost ` + stateTwoRaw + `","data":{"s":"` + stateTwo + `"}}`},
	// An earlier round's state in a form of a later one.
	"form": {peer.Round(`"` + stateOne + `"`), peer.Round(`"`+stateTwoRaw+`"`, strings.Replace(peer.Form("k", "v"), "Please", "Please "+stateOne, 1)), peer.Done},
}

// tellAnswers makes such a server say what a person typed, on its stderr and in its result.
const tellAnswers = "ASKBACK_ACCEPTANCE_TELL"

// giveBack is such a server as a process: it says each state on its stderr and records what it was sent.
func giveBack(script []string, record io.Writer) error {
	s := peer.New(script...)
	return s.ServeStdio(os.Stdin, os.Stdout, func(line []byte, c peer.Call) {
		fmt.Fprintf(record, "%s\n", line)
		if c.RequestState != nil {
			var text string
			json.Unmarshal(c.RequestState, &text)
			fmt.Fprintf(os.Stderr, "debug: state %s is %s.\n", c.RequestState, text)
		}
		if os.Getenv(tellAnswers) != "" && c.InputResponses != nil {
			fmt.Fprintf(os.Stderr, "debug: answers %s\n", c.InputResponses)
			s.Rewrite("done ", "done "+strings.ReplaceAll(string(c.InputResponses), `"`, ` `))
		}
	})
}

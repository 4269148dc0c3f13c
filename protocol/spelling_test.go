package protocol

import (
	"fmt"
	"testing"

	"askback/forms"
)

// TestWholeNumbers: an integer counts as one in any spelling that JSON has for it, in both directions.
func TestWholeNumbers(t *testing.T) {
	for spelt, want := range map[string]int64{
		"81": 81, "81.0": 81, "81.000": 81, "8.1e1": 81, "8.1E+1": 81, "0.81e2": 81, "810e-1": 81, "81000e-3": 81, "81e0": 81, "81e-0": 81,
		"0.0": 0, "0e0": 0, "-0": 0, "-0.0": 0, "0e999999999999": 0, "1e0": 1, "81.5": -1, "1e-1": -1, "9007199254740992.0": -1, "1e16": -1, "1e30": -1, "1e999999999": -1, "1e99999999999999999999": -1,
		"1e-99999999999999999999": -1, "81.00000000000000000001": -1,
	} {
		frame := fmt.Sprintf(`{"kind":"hello","clientInstanceId":"i","protocolMin":0.0,"protocolMax":0,"compatibilityEpoch":%s}`, spelt)
		f, err := DecodeClientFrame([]byte(frame), Dialect81)
		if (err == nil) != (want >= 0) {
			t.Errorf("%s: %v", spelt, err)
		} else if err == nil && int64(f.(*Hello).CompatibilityEpoch) != want {
			t.Errorf("%s is %d", spelt, f.(*Hello).CompatibilityEpoch)
		}
	}
	for spelt, ok := range map[string]bool{"9007199254740991.0": true, "9.007199254740991e15": true, "9007199254740992.0": false, "9.007199254740992e15": false} {
		f, err := DecodeHostFrame([]byte(`{"kind":"session.catalog.changed","revision":`+spelt+`,"sessionId":"s"}`), Dialect81)
		if (err == nil) != ok || ok && f.(*SessionCatalogChanged).Revision != maxSafeInteger {
			t.Errorf("%s: %+v, %v", spelt, f, err)
		}
	}
}

// TestHalvesInAnswers: half of a surrogate pair in a value is a wrong answer; elsewhere the frame is malformed as before.
func TestHalvesInAnswers(t *testing.T) {
	for answer, wrong := range map[string]string{
		`"action":"accept","values":{"a":"\ud83d"}`:                      `"a": holds half of a surrogate pair`,
		`"action":"accept","values":{"a":"x\ude00\ud83d"}`:               `"a": holds half of a surrogate pair`,
		`"action":"accept","values":{"a":"\ud83d\ude00","b":["\ud800"]}`: `"b": holds half of a surrogate pair`,
		`"action":"accept","values":{"\ud800":"a"}`:                      "a field's name holds half of a surrogate pair",
		`"action":"accept","values":{"a":"\ud83d\ude00"}`:                "",
		`"action":"accept","values":{"a":"\\ud83d"}`:                     "",
		`"action":"acc\ud800","values":{}`:                               "malformed",
		`"action":"decline","x\ud800":1`:                                 "malformed",
		`"action":"accept","values":{"a":"\ud800","b":null}`:             "malformed",
	} {
		frame := `{"requestId":"r","operation":"interaction.answer","input":{"sessionId":"s","interactionId":"i","answer":{"kind":"form",` + answer + `}}}`
		f, err := DecodeClientFrame([]byte(frame), Dialect81)
		if (err != nil) != (wrong == "malformed") {
			t.Errorf("%s: %v", answer, err)
			continue
		}
		if err != nil {
			continue
		}
		a := f.(*Request).Input.(*InteractionAnswerInput).Answer.(*FormAnswer)
		if a.Wrong != wrong || a.Result.Action != forms.ActionAccept {
			t.Errorf("%s: %+v", answer, a)
		}
		if _, err := Encode(f, Dialect81); (err == nil) != (wrong == "") {
			t.Errorf("%s: sent on: %v", answer, err)
		}
	}
}

package protocol

import "testing"

var benchFrames = []struct {
	name string
	dir  string
	msg  string
}{
	{"progress", "c2h", `{"kind":"client.capability.progress","invocationId":"7213e53b-5d0e-4be4-a65b-0809c401b9c7","current":3,"total":10}`},
	{"call", "h2c", `{"kind":"client.capability.call","invocationId":"7213e53b-5d0e-4be4-a65b-0809c401b9c7","registrationId":"reg-1","offerId":"wire-offer","serverId":"wire","toolName":"echo","arguments":{"text":"hi"},"sessionId":"s-1","turnId":"t-1","toolCallId":"call_5_0"}`},
	{"request", "c2h", `{"requestId":"r1","operation":"turn.start","input":{"sessionId":"s-1","turnId":"t-1","content":{"text":"/call demo/deploy {}"}}}`},
	{"projection", "h2c", projection(pendingForm)},
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range benchFrames {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			msg := []byte(c.msg)
			b.SetBytes(int64(len(msg)))
			for b.Loop() {
				if _, err := decodeDir(c.dir, msg, Dialect81); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range benchFrames {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			frame, err := decodeDir(c.dir, []byte(c.msg), Dialect81)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Encode(frame, Dialect81); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

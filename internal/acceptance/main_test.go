package acceptance

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"askback/internal/app"
	_ "askback/internal/bginit" // as the program has it
	"askback/internal/demo"
)

// serveAs makes the test binary the MCP server of a test: "stdio", "http_sse" or "http_json".
const (
	serveAs  = "ASKBACK_ACCEPTANCE_SERVER"
	recordTo = "ASKBACK_ACCEPTANCE_RECORD"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "demo-server" && os.Getenv(tamperBy) != "" {
		os.Setenv(recordTo, os.Args[3])
		os.Setenv(serveAs, "stdio")
	} else if os.Getenv(asProgram) != "" {
		os.Exit(app.Main(os.Args[1:]))
	}
	if mode := os.Getenv(serveAs); mode != "" {
		if err := serve(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Set("test.parallel", "12") // tests of programs and screens mostly wait
	goleak.VerifyTestMain(m)
}

func serve(mode string) error {
	f, err := os.OpenFile(os.Getenv(recordTo), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if script, ok := reflecting[mode]; ok {
		return giveBack(script, f)
	}
	s := demo.New(demo.Options{Version: "test", Record: tampering(f), JSONBodies: mode == "http_json"})
	if mode == "stdio" {
		return s.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	go func() { // the test's end closes our stdin
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return s.ServeHTTP(ctx, l)
}

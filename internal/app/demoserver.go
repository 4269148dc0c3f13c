package app

import (
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"askback/internal/demo"
)

// newDemoServer is the MCP server behind `askback demo`, as a program of its own.
func newDemoServer(g *globals) *cobra.Command {
	var addr, record string
	var jsonBodies bool
	cmd := &cobra.Command{
		Use:    "demo-server",
		Short:  "The demo MCP server, over stdio or HTTP",
		Hidden: true,
		Example: `  askback demo-server
  askback demo-server --http 127.0.0.1:3111`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			opts := demo.Options{Version: version, JSONBodies: jsonBodies}
			if record != "" {
				f, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					return usagef(err)
				}
				defer f.Close()
				opts.Record = f
			}
			s := demo.New(opts)
			if addr == "" {
				return s.ServeStdio(ctx, io.NopCloser(g.env.stdin), nopWriteCloser{g.env.stdout})
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return usagef(err)
			}
			fmt.Fprintf(g.env.stdout, "{\"ready\":true,\"url\":\"http://%s/mcp\"}\n", l.Addr())
			return s.ServeHTTP(ctx, l)
		},
	}
	cmd.Flags().StringVar(&addr, "http", "", "serve streamable HTTP on `address` instead of stdio")
	cmd.Flags().BoolVar(&jsonBodies, "json", false, "answer HTTP requests with JSON bodies instead of event streams")
	cmd.Flags().StringVar(&record, "record", "", "append every message that a client sends to `file`")
	return cmd
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// Package inspect talks to MCP servers directly, for the people who write them. An [Inspector] connects each server
// through a Manager of its own with every handler a client can have, runs calls, and puts what a server asks to a
// person as an [Ask]. A [Log] turns the messages that pass into conversations: the legs of one logical call with what
// was asked and what was answered.
//
// A requestState is known here by its size and by whether it came back exactly. Its text never arrives: the Manager
// replaces it before a message is told.
package inspect

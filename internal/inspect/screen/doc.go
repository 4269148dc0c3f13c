// Package screen is the terminal surface of the inspector: lists of what servers have, the calls as conversations,
// the messages, and a panel for each thing that a server asks.
//
// What came from a server goes through the display projection and stands in rows that begin with a bar, or in columns
// of a list. A panel opens over whatever is there and ignores keys for a moment; nothing irreversible follows from one
// key on a screen where text is typed.
package screen

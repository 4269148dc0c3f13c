package broker

import (
	"cmp"
	"maps"
	"slices"
)

// Effects come in the same order for the same inputs: maps are walked sorted.

func sortedConns(m map[*conn]bool) []*conn {
	return slices.SortedFunc(maps.Keys(m), func(a, b *conn) int { return cmp.Compare(a.ID, b.ID) })
}

func sortedRegistrations(m map[*registration]bool) []*registration {
	return slices.SortedFunc(maps.Keys(m), func(a, b *registration) int { return cmp.Compare(a.id, b.id) })
}

func sortedInvocations(m map[string]*invocation) []*invocation {
	return slices.SortedFunc(maps.Values(m), func(a, b *invocation) int { return cmp.Compare(a.seq, b.seq) })
}

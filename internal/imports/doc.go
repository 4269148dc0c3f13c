// Package imports holds the test of the import table: which package of this module may know which.
package imports

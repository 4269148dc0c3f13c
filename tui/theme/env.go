package theme

import (
	"strconv"
	"strings"
)

// lightBackground reads COLORFGBG ("foreground;background", colours of the 16-colour palette).
func lightBackground(colorfgbg string) bool {
	i := strings.LastIndexByte(colorfgbg, ';')
	if i < 0 {
		return false
	}
	bg, err := strconv.Atoi(colorfgbg[i+1:])
	return err == nil && (bg == 7 || bg >= 9 && bg <= 15)
}

// asciiLocale says whether the environment asks in so many words for the C locale, or for an encoding that is not UTF-8.
// An unset locale says nothing: that is how most containers are, on terminals that draw UTF-8.
func asciiLocale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			_, encoding, named := strings.Cut(v, ".")
			encoding, _, _ = strings.Cut(strings.ToLower(encoding), "@")
			return v == "C" || v == "POSIX" || named && encoding != "utf-8" && encoding != "utf8"
		}
	}
	return false
}

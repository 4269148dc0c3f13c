package forms

import (
	"regexp"
	"strings"
	"unicode"
)

// LooksSecret reports whether a field seems to ask for a secret, by its name,
// label or description: passwords, API keys, access tokens, payment data. A
// field that only takes what the server offers cannot.
func LooksSecret(fd Field) bool {
	switch fd.Kind {
	case KindString, KindNumber, KindInteger:
	default:
		return false
	}
	for _, s := range []string{fd.Name, fd.Label, fd.Description} {
		if soundsSecret(s) {
			return true
		}
	}
	return false
}

// secretWords give a secret away by themselves; secretPhrases are several
// words in a row, and secretParts stand anywhere, in scripts and languages that
// do not separate words alike.
var (
	secretWords = map[string]bool{
		"password": true, "passwords": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true,
		"secret": true, "secrets": true, "token": true, "apikey": true, "credential": true, "credentials": true,
		"cvv": true, "cvc": true, "cvv2": true, "cvc2": true, "otp": true, "totp": true, "pin": true, "ssn": true,
		"iban": true, "privatekey": true, "secretkey": true, "accesskey": true, "authtoken": true,
		"accesstoken": true, "creditcard": true, "cardnumber": true, "mnemonic": true, "bearer": true, "jwt": true,
		"cardholder": true, "authkey": true, "mfa": true, "2fa": true,
	}
	// tokenCounts follow a token that is a unit of text, not a credential.
	tokenCounts = map[string]bool{
		"count": true, "counts": true, "limit": true, "limits": true, "budget": true, "usage": true, "window": true,
		"length": true, "price": true, "cost": true,
	}
	secretPhrases = []string{
		"api key", "api keys", "access key", "access keys", "secret key", "private key", "signing key",
		"encryption key", "ssh key", "license key", "access tokens", "auth tokens", "api tokens",
		"refresh tokens", "session tokens", "bearer tokens", "session cookie", "pass phrase", "pass code",
		"pass word", "card number", "credit card", "debit card", "security code", "verification code",
		"one time code", "one time password", "recovery code", "recovery phrase", "seed phrase", "bank account",
		"account number", "social security", "auth code", "authorization code", "auth key", "master key",
		"backup code", "backup codes", "recovery codes", "authenticator code", "login code", "security answer",
		"bank card", "payment card", "card no", "cc number", "card expiry", "card holder", "routing number", "sort code",
		"mot de passe", "numéro de carte", "clave de acceso",
	}
	secretParts = []string{
		"password", "passwd", "passwort", "passwört", "kennwort", "kennwört", "geheim", "contraseña", "contrasena", "motdepasse", "wachtwoord", "lösenord", "hasło", "пароль",
		"パスワード", "密码", "密碼", "비밀번호", "parola", "senha",
	}
)

func soundsSecret(s string) bool {
	if s == "" {
		return false
	}
	words := wordsOf(s)
	for i, w := range words {
		if secretWords[w] && (w != "token" || i+1 == len(words) || !tokenCounts[words[i+1]]) {
			return true
		}
		// Digits at the end do not disguise it: password2.
		if trimmed := strings.TrimRight(w, "0123456789"); trimmed != w && secretWords[trimmed] {
			return true
		}
	}
	text := " " + strings.Join(words, " ") + " "
	for _, p := range secretPhrases {
		if strings.Contains(text, " "+p+" ") {
			return true
		}
	}
	for _, p := range secretParts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// wordsOf splits a name or a sentence into lower-case words: at anything but
// letters and digits, and inside camelCase. Hidden characters are taken out
// first, so that they cannot disguise a word.
func wordsOf(s string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	var prev rune
	runes := []rune(visible(s))
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			flush()
		case unicode.IsUpper(r):
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(prev) || unicode.IsUpper(prev) && next {
				flush()
			}
			word = append(word, unicode.ToLower(r))
		default:
			word = append(word, unicode.ToLower(r))
		}
		prev = r
	}
	flush()
	return words
}

// visible is s without its hidden characters, with full-width forms as ASCII.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isHidden(r):
			return -1
		case 0xff01 <= r && r <= 0xff5e:
			return r - 0xff01 + '!'
		}
		return r
	}, s)
}

// HasLink reports whether a text of the form holds something that reads as a
// link: a form may not send people elsewhere. A bare host name counts, but not
// in the requester, where it says on which machine the tool runs.
func HasLink(f Form) bool {
	if isLink(f.Message) || isFullLink(f.Requester.Name) || isFullLink(f.Requester.Source) {
		return true
	}
	for i := range f.Fields {
		if f.Fields[i].HasLink() {
			return true
		}
	}
	return false
}

// HasLink reports whether a text of the field holds something that reads as a
// link.
func (f Field) HasLink() bool {
	if isLink(f.Label) || isLink(f.Description) {
		return true
	}
	for _, o := range f.Options {
		if isLink(o.Label) || isLink(o.Description) {
			return true
		}
	}
	return false
}

// fullLink finds a scheme with something after it, www. and mailto:. bareLink
// finds a host name that is followed by a path or ends in one of the three
// oldest domains; after an @ it is an address, not a link.
var (
	fullLink = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S|\bwww\.[a-z0-9-]|\bmailto:\S`)
	bareLink = regexp.MustCompile(`(?i)(^|[^@a-z0-9.-])([a-z0-9-]+\.)+([a-z]{2,}/\S|(com|net|org)\b)`)
)

func isLink(s string) bool {
	return isFullLink(s) || mayLink(s) && bareLink.MatchString(visible(s))
}

func isFullLink(s string) bool { return mayLink(s) && fullLink.MatchString(visible(s)) }

// mayLink is a quick no for most texts, which hold no dot and no colon.
func mayLink(s string) bool { return strings.ContainsAny(s, ".:．：") }

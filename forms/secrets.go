package forms

import (
	"slices"
	"strings"
	"unicode"
)

// LooksSecret reports whether a field seems to ask for a secret, by its name,
// label or description: passwords, API keys, access tokens, payment data. A
// field that only takes what the server offers cannot.
func LooksSecret(fd Field) bool {
	if !fd.isTyped() {
		return false
	}
	for _, s := range []string{fd.Name, fd.Label, fd.Description} {
		if words := wordsOf(s); soundsSecret(words) || fd.Kind == KindString && isSecretAlone(words) {
			return true
		}
	}
	return false
}

// MessageLooksSecret reports whether the message of the form seems to ask for
// a secret that one of its fields could take.
func MessageLooksSecret(f Form) bool {
	for i := range f.Fields {
		if f.Fields[i].isTyped() {
			return soundsSecret(wordsOf(f.Message))
		}
	}
	return false
}

// isTyped reports whether the answer is typed, not chosen.
func (f Field) isTyped() bool {
	return f.Kind == KindString || f.Kind == KindNumber || f.Kind == KindInteger
}

// secretWords give a secret away wherever they stand; secretPhrases are several
// words in a row, and secretParts stand anywhere, in scripts and languages that
// do not separate words alike. Words that mean something else as often, such as
// key, seed or expiry, are in none of them.
var (
	secretWords = map[string]bool{
		"password": true, "passwords": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true,
		"secret": true, "secrets": true, "token": true, "apikey": true, "credential": true, "credentials": true,
		"cvv": true, "cvc": true, "cvv2": true, "cvc2": true, "otp": true, "totp": true, "pin": true, "ssn": true,
		"iban": true, "privatekey": true, "secretkey": true, "accesskey": true, "authtoken": true,
		"accesstoken": true, "creditcard": true, "cardnumber": true, "mnemonic": true, "bearer": true, "jwt": true,
		"cardholder": true, "authkey": true, "mfa": true, "2fa": true,
		"pw": true, "cred": true, "creds": true, "clientsecret": true, "privkey": true, "sshkey": true, "pgpkey": true, "gpgkey": true,
		"ccnum": true, "ccnumber": true, "cardnum": true, "expdate": true, "sessionid": true, "sessid": true, "phpsessid": true,
		"seedphrase": true, "userpass": true, "dbpass": true, "ghpat": true,
	}
	// aloneWords are too common for a sentence, but hardly mean anything else
	// as the whole name of a text; fillers beside them change nothing.
	aloneWords = map[string]bool{
		"pass": true, "auth": true, "authorization": true, "cookie": true, "cookies": true, "tokens": true, "pat": true,
	}
	fillers = map[string]bool{
		"your": true, "the": true, "my": true, "a": true, "please": true, "enter": true, "paste": true, "type": true,
		"new": true, "old": true, "current": true,
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
		"pgp key", "gpg key", "session id", "session key", "session cookies", "auth cookie", "login cookie", "cookie header",
		"auth header", "authorization header", "basic auth", "github pat", "gitlab pat", "gh pat", "exp date", "exp month",
		"exp year", "card exp", "cc exp", "card expiration", "valid thru", "expiry mm yy", "expiration mm yy", "expiry mm yyyy",
		"expiration mm yyyy", "user pass", "db pass", "admin pass", "root pass", "login pass", "wallet seed", "seed words",
		"recovery seed", "mot de passe", "numéro de carte", "clave de acceso",
	}
	secretParts = []string{
		"password", "passwd", "passwort", "passwört", "kennwort", "kennwört", "geheim", "kreditkarte", "contraseña", "contrasena", "motdepasse", "wachtwoord", "lösenord", "hasło", "пароль",
		"パスワード", "密码", "密碼", "비밀번호", "parola", "senha",
	}
)

// isSecretAlone reports whether words are no more than one of aloneWords.
func isSecretAlone(words []string) bool {
	found := false
	for _, w := range words {
		if !aloneWords[w] && !fillers[w] || found && aloneWords[w] {
			return false
		}
		found = found || aloneWords[w]
	}
	return found
}

func soundsSecret(words []string) bool {
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
// first, and letters of other scripts made those that they look like, so that
// they cannot disguise a word.
func wordsOf(s string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, unmask(word))
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

// lookalikes are lower-case letters that read as another of ASCII, in lower or
// in upper case.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'м': 'm', 'о': 'o',
	'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'ԝ': 'w', // Cyrillic
	'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'χ': 'x', // Greek
	'ı': 'i', 'ſ': 's', 'ɡ': 'g',
}

// unmask is a word with the letters of other scripts replaced that look like
// those of ASCII. A word with no letter of ASCII is one of another language and
// stays.
func unmask(word []rune) string {
	isASCII := func(r rune) bool { return 'a' <= r && r <= 'z' }
	if slices.ContainsFunc(word, isASCII) {
		for i, r := range word {
			if to, ok := lookalikes[r]; ok {
				word[i] = to
			}
		}
	}
	return string(word)
}

// visible is s without its hidden characters, with full-width forms as ASCII and
// the full stops of Chinese and Japanese, which a browser takes in a host, as dots.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isHidden(r):
			return -1
		case 0xff01 <= r && r <= 0xff5e:
			return r - 0xff01 + '!'
		case r == 0x3002, r == 0xff61:
			return '.'
		}
		return r
	}, s)
}

package forms_test

import (
	"fmt"

	"askback/forms"
)

// A server's schema becomes a form, typed text an answer, and the answer is
// checked before it leaves.
func Example() {
	el, err := forms.ReadElicitation([]byte(`{
		"message": "Choose the deployment target",
		"requestedSchema": {"type":"object","properties":{
			"environment":{"type":"string","enum":["staging","production"]},
			"replicas":{"type":"integer","minimum":1,"maximum":5,"default":2},
			"confirm":{"type":"boolean"}
		},"required":["environment","confirm"]}
	}`), forms.SchemaOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	form, err := el.Form(forms.Requester{Name: "deploy", Source: "demo"}, "deploy").Fit(forms.OurLimits())
	if err != nil {
		fmt.Println(err)
		return
	}
	vals, errs := form.Set(form.Defaults(), []string{"environment=staging", "replicas=9"})
	fmt.Println(errs)
	fmt.Println(form.Check(forms.Accept(vals)))

	vals, _ = form.Set(vals, []string{"confirm=yes"})
	answer, _ := form.Canonical(forms.Accept(vals)).Encode()
	fmt.Println(string(answer))
	// Output:
	// "replicas": must be at most 5
	// "confirm": is required
	// {"action":"accept","values":{"confirm":true,"environment":"staging","replicas":2}}
}

// What is refused names the property and the keyword, and everything that is
// wrong is there at once.
func ExampleReadSchema() {
	_, err := forms.ReadSchema([]byte(`{"type":"object","properties":{
		"pin":{"type":"string","pattern":"^[0-9]{4}$"},
		"tags":{"type":"array","items":{"type":"string"}}
	}}`), forms.SchemaOptions{})
	fmt.Println(err)
	// Output:
	// property "pin", keyword "pattern": constrains the answer in a way that a form cannot check; leave it out or check it in the tool
	// property "tags", keyword "items": a list of free values cannot be asked for; list the choices with enum, or with anyOf of const and title
}

// Nothing from a server reaches the terminal as it is.
func ExampleLine() {
	fmt.Println(forms.Line("Deploy\x1b]0;owned\x07 to\nproduction\u202e"))
	// Output:
	// Deploy\x1b]0;owned\x07 to production\u{202e}
}

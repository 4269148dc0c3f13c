package forms

import "strings"

// jsonTypes is a set of JSON Schema types.
type jsonTypes uint8

const (
	typeString   jsonTypes = 1 << iota
	typeFraction           // numbers that are no integers
	typeInteger
	typeBoolean
	typeArray
	typeObject
	typeNull

	typeNumber = typeFraction | typeInteger
	anyType    = typeString | typeNumber | typeBoolean | typeArray | typeObject | typeNull
)

var typesByName = map[string]jsonTypes{
	"string": typeString, "number": typeNumber, "integer": typeInteger, "boolean": typeBoolean,
	"array": typeArray, "object": typeObject, "null": typeNull,
}

// constraint says which types a keyword can constrain; a value of another type
// always passes it. Keywords that are not here constrain nothing.
var constraint = map[string]jsonTypes{
	"$ref": anyType, "$dynamicRef": anyType, "$recursiveRef": anyType,
	"type": anyType, "enum": anyType, "const": anyType, "not": anyType, "if": anyType,
	"allOf": anyType, "anyOf": anyType, "oneOf": anyType, "extends": anyType, "disallow": anyType,

	"minLength": typeString, "maxLength": typeString, "pattern": typeString, "format": typeString,
	"formatMinimum": typeString, "formatMaximum": typeString,
	"formatExclusiveMinimum": typeString, "formatExclusiveMaximum": typeString,

	"minimum": typeNumber, "maximum": typeNumber, "multipleOf": typeNumber,
	"exclusiveMinimum": typeNumber, "exclusiveMaximum": typeNumber, "divisibleBy": typeNumber,

	"items": typeArray, "minItems": typeArray, "maxItems": typeArray, "uniqueItems": typeArray,
	"contains": typeArray, "minContains": typeArray, "maxContains": typeArray,
	"prefixItems": typeArray, "unevaluatedItems": typeArray,

	"properties": typeObject, "required": typeObject, "patternProperties": typeObject,
	"propertyNames": typeObject, "minProperties": typeObject, "maxProperties": typeObject,
	"dependentRequired": typeObject, "dependentSchemas": typeObject, "dependencies": typeObject,
	"unevaluatedProperties": typeObject, "additionalProperties": typeObject,
}

// understood are the constraints that a field can hold. Whether one is met as
// it stands is decided where it is read.
var understood = map[string]bool{
	"$ref": true, "type": true, "enum": true, "const": true, "allOf": true, "anyOf": true, "oneOf": true,
	"minLength": true, "maxLength": true, "format": true,
	"minimum": true, "maximum": true, "multipleOf": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
	"items": true, "minItems": true, "maxItems": true, "uniqueItems": true,
}

// annotations are keywords that say something about a schema and constrain
// nothing. They are passed over without a word.
var annotations = map[string]bool{
	"$schema": true, "$id": true, "$anchor": true, "$defs": true, "definitions": true, "$comment": true,
	"title": true, "description": true, "default": true, "examples": true, "deprecated": true,
	"readOnly": true, "writeOnly": true, "enumNames": true,
	"$vocabulary": true, "$dynamicAnchor": true, "$recursiveAnchor": true,
}

func isAnnotation(keyword string) bool {
	return annotations[keyword] || strings.HasPrefix(keyword, "x-")
}

package main

import (
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// roots are the messages that are written by themselves; an extension's messages join them, since each can stand in an Any.
var roots = []protoreflect.FullName{
	"envoy.config.bootstrap.v3.Bootstrap",
	"envoy.config.cluster.v3.Cluster",
	"envoy.config.endpoint.v3.ClusterLoadAssignment",
	"envoy.config.listener.v3.Listener",
	"envoy.config.route.v3.RouteConfiguration",
}

// wellKnown are the messages with a JSON shape of their own.
var wellKnown = map[protoreflect.FullName]string{
	"google.protobuf.Any":         "Any",
	"google.protobuf.BoolValue":   "boolean",
	"google.protobuf.BytesValue":  "string",
	"google.protobuf.DoubleValue": "number",
	"google.protobuf.Duration":    "Duration",
	"google.protobuf.Empty":       "Empty",
	"google.protobuf.FieldMask":   "string",
	"google.protobuf.FloatValue":  "number",
	"google.protobuf.Int32Value":  "number",
	"google.protobuf.Int64Value":  "Int64",
	"google.protobuf.ListValue":   "readonly Json[]",
	"google.protobuf.StringValue": "string",
	"google.protobuf.Struct":      "{ readonly [name: string]: Json }",
	"google.protobuf.Timestamp":   "string",
	"google.protobuf.UInt32Value": "number",
	"google.protobuf.UInt64Value": "Int64",
	"google.protobuf.Value":       "Json",
}

const prelude = `
/** Seconds with up to nine decimals, for example '0.25s'. */
export type Duration = ` + "`${number}s`" + `
/** A safe integer, or its decimal digits. */
export type Int64 = number | string
export type Empty = Readonly<Record<string, never>>
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A message that says its own type. */
export type Any = { [Url in keyof AnyTypes]: { readonly '@type': Url } & AnyTypes[Url] }[keyof AnyTypes]
`

type typeWriter struct {
	names    map[protoreflect.FullName]string
	messages []protoreflect.MessageDescriptor
	enums    []protoreflect.EnumDescriptor
	any      []protoreflect.MessageDescriptor
	text     strings.Builder
}

// types prints an interface for each message that can be written, in the shape that Envoy's documentation shows.
func types() string {
	w := &typeWriter{names: map[protoreflect.FullName]string{}}
	w.collect()
	w.name()
	w.text.WriteString(prelude)
	w.text.WriteString("\nexport interface AnyTypes {\n")
	for _, message := range w.any {
		fmt.Fprintf(&w.text, "  'type.googleapis.com/%s': %s\n", message.FullName(), w.names[message.FullName()])
	}
	w.text.WriteString("}\n")
	for _, message := range w.messages {
		w.message(message)
	}
	for _, enum := range w.enums {
		w.enum(enum)
	}
	return w.text.String()
}

func (w *typeWriter) collect() {
	seen := map[protoreflect.FullName]bool{}
	var visit func(protoreflect.MessageDescriptor)
	visit = func(message protoreflect.MessageDescriptor) {
		if seen[message.FullName()] || wellKnown[message.FullName()] != "" {
			return
		}
		seen[message.FullName()] = true
		if !message.IsMapEntry() {
			w.messages = append(w.messages, message)
		}
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			if deprecated(field) {
				continue
			}
			if field.Message() != nil {
				visit(field.Message())
			}
			if enum := field.Enum(); enum != nil && !seen[enum.FullName()] && enum.FullName() != "google.protobuf.NullValue" {
				seen[enum.FullName()] = true
				w.enums = append(w.enums, enum)
			}
		}
	}
	for _, name := range roots {
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		check(err)
		visit(descriptor.(protoreflect.MessageDescriptor))
	}
	for _, file := range envoyFiles() {
		if !strings.HasPrefix(string(file.Package()), "envoy.extensions.") {
			continue
		}
		for i := range file.Messages().Len() {
			visit(file.Messages().Get(i))
			w.any = append(w.any, file.Messages().Get(i))
		}
	}
	sort.Slice(w.messages, func(i, j int) bool { return w.messages[i].FullName() < w.messages[j].FullName() })
	sort.Slice(w.enums, func(i, j int) bool { return w.enums[i].FullName() < w.enums[j].FullName() })
	sort.Slice(w.any, func(i, j int) bool { return w.any[i].FullName() < w.any[j].FullName() })
}

// name gives each type its own name; where two packages use one, each is prefixed by words of its package.
func (w *typeWriter) name() {
	var all []protoreflect.Descriptor
	for _, message := range w.messages {
		all = append(all, message)
	}
	for _, enum := range w.enums {
		all = append(all, enum)
	}
	taken := map[string]bool{"Any": true, "AnyTypes": true, "Duration": true, "Empty": true, "Int64": true, "Json": true}
	for words := 0; len(all) > 0; words++ {
		count := map[string]int{}
		for _, descriptor := range all {
			count[shortName(descriptor, words)]++
		}
		var left []protoreflect.Descriptor
		for _, descriptor := range all {
			name := shortName(descriptor, words)
			if count[name] == 1 && !taken[name] {
				w.names[descriptor.FullName()] = name
			} else {
				left = append(left, descriptor)
			}
		}
		for name := range count {
			taken[name] = true
		}
		all = left
	}
}

// shortName is the name within the file, nested names joined by _, after the last `words` words of the package.
func shortName(descriptor protoreflect.Descriptor, words int) string {
	file := descriptor.ParentFile()
	local := strings.TrimPrefix(string(descriptor.FullName()), string(file.Package())+".")
	segments := strings.Split(strings.TrimSuffix(string(file.Package()), ".v3"), ".")
	prefix := ""
	for _, segment := range segments[max(0, len(segments)-words):] {
		for _, word := range strings.Split(segment, "_") {
			prefix += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return prefix + strings.ReplaceAll(local, ".", "_")
}

func (w *typeWriter) message(message protoreflect.MessageDescriptor) {
	fmt.Fprintf(&w.text, "\nexport interface %s {\n", w.names[message.FullName()])
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if !deprecated(field) {
			fmt.Fprintf(&w.text, "  readonly %s?: %s | undefined\n", field.Name(), w.field(field))
		}
	}
	w.text.WriteString("}\n")
}

func (w *typeWriter) enum(enum protoreflect.EnumDescriptor) {
	fmt.Fprintf(&w.text, "\nexport type %s =\n", w.names[enum.FullName()])
	for i := range enum.Values().Len() {
		fmt.Fprintf(&w.text, "  | '%s'\n", enum.Values().Get(i).Name())
	}
}

func (w *typeWriter) field(field protoreflect.FieldDescriptor) string {
	switch {
	case field.IsMap():
		return fmt.Sprintf("{ readonly [key: string]: %s }", w.value(field.MapValue()))
	case field.IsList():
		return fmt.Sprintf("readonly %s[]", group(w.value(field)))
	default:
		return w.value(field)
	}
}

// group puts a type that is not a single name in parentheses.
func group(value string) string {
	if strings.ContainsAny(value, " |{") {
		return "(" + value + ")"
	}
	return value
}

func (w *typeWriter) value(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return "boolean"
	case protoreflect.StringKind, protoreflect.BytesKind:
		return "string"
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return "Int64"
	case protoreflect.EnumKind:
		if field.Enum().FullName() == "google.protobuf.NullValue" {
			return "null"
		}
		return w.names[field.Enum().FullName()]
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if shape := wellKnown[field.Message().FullName()]; shape != "" {
			return shape
		}
		return w.names[field.Message().FullName()]
	default:
		return "number"
	}
}

func deprecated(field protoreflect.FieldDescriptor) bool {
	options, ok := field.Options().(*descriptorpb.FieldOptions)
	return ok && options.GetDeprecated()
}

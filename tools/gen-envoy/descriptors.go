package main

import (
	"log"
	"sort"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// envoyFiles lists Envoy's own linked files in order of path, without those that only annotate.
func envoyFiles() []protoreflect.FileDescriptor {
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(file.Path(), "envoy/") && !strings.HasPrefix(file.Path(), "envoy/annotations/") {
			files = append(files, file)
		}
		return true
	})
	sort.Slice(files, func(i, j int) bool { return files[i].Path() < files[j].Path() })
	return files
}

// descriptorSet holds Envoy's files and all that their fields need, each after what it needs.
func descriptorSet() *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		file, err := protoregistry.GlobalFiles.FindFileByPath(path)
		check(err)
		bare := strip(file)
		for _, dependency := range bare.Dependency {
			add(dependency)
		}
		set.File = append(set.File, bare)
	}
	for _, file := range envoyFiles() {
		add(file.Path())
	}
	return set
}

// strip leaves what encoding needs: no comments, no options but those that change the wire, no imports that only options used.
func strip(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	bare := proto.Clone(protodesc.ToFileDescriptorProto(file)).(*descriptorpb.FileDescriptorProto)
	used := map[string]bool{}
	bare.SourceCodeInfo, bare.Options, bare.Extension = nil, nil, nil
	bare.PublicDependency, bare.WeakDependency = nil, nil
	for _, message := range bare.MessageType {
		stripMessage(message, used)
	}
	for _, enum := range bare.EnumType {
		stripEnum(enum)
	}
	for _, service := range bare.Service {
		service.Options = nil
		for _, method := range service.Method {
			method.Options = nil
			used[fileOf(method.GetInputType())] = true
			used[fileOf(method.GetOutputType())] = true
		}
	}
	delete(used, file.Path())
	bare.Dependency = sorted(used)
	return bare
}

func stripMessage(message *descriptorpb.DescriptorProto, used map[string]bool) {
	if message.Options != nil {
		message.Options = &descriptorpb.MessageOptions{MapEntry: message.Options.MapEntry}
		if message.Options.MapEntry == nil {
			message.Options = nil
		}
	}
	message.Extension, message.ExtensionRange = nil, nil
	message.ReservedName, message.ReservedRange = nil, nil
	for _, oneof := range message.OneofDecl {
		oneof.Options = nil
	}
	for _, field := range message.Field {
		stripField(field)
		if field.TypeName != nil {
			used[fileOf(field.GetTypeName())] = true
		}
	}
	for _, nested := range message.NestedType {
		stripMessage(nested, used)
	}
	for _, enum := range message.EnumType {
		stripEnum(enum)
	}
}

func stripField(field *descriptorpb.FieldDescriptorProto) {
	field.JsonName = nil
	if field.Options != nil && field.Options.Packed != nil {
		field.Options = &descriptorpb.FieldOptions{Packed: field.Options.Packed}
	} else {
		field.Options = nil
	}
}

func stripEnum(enum *descriptorpb.EnumDescriptorProto) {
	if enum.Options.GetAllowAlias() {
		enum.Options = &descriptorpb.EnumOptions{AllowAlias: enum.Options.AllowAlias}
	} else {
		enum.Options = nil
	}
	enum.ReservedName, enum.ReservedRange = nil, nil
	for _, value := range enum.Value {
		value.Options = nil
	}
}

func fileOf(typeName string) string {
	descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.TrimPrefix(typeName, ".")))
	if err != nil {
		log.Fatalf("%s: %v", typeName, err)
	}
	return descriptor.ParentFile().Path()
}

func sorted(set map[string]bool) []string {
	var keys []string
	for key := range set {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

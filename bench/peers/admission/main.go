// The peer of bench/admission.ts: an admission webhook as controller-runtime has it, which gives an object its
// defaults and validates it by the schema and the CEL rules of its kind, with the API server's own packages. It looks
// at no other object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type kind struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// readKind reads a file of src/kinds/schemas: the schema of a version as its CustomResourceDefinition holds it.
func readKind(file, version string) (*kind, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var generated struct {
		Versions map[string]json.RawMessage `json:"versions"`
	}
	if err := json.Unmarshal(text, &generated); err != nil {
		return nil, err
	}
	var external v1.JSONSchemaProps
	if err := json.Unmarshal(generated.Versions[version], &external); err != nil {
		return nil, err
	}
	external.Type = "object"
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		external.Properties[name] = v1.JSONSchemaProps{Type: kind}
	}
	var internal apiextensions.JSONSchemaProps
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &kind{structural, validator, rules}, nil
}

func (k *kind) Handle(ctx context.Context, request admission.Request) admission.Response {
	var object map[string]interface{}
	if err := utiljson.Unmarshal(request.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	defaulting.Default(object, k.structural)
	errs := validation.ValidateCustomResource(nil, object, k.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if len(errs) == 0 {
		broken, _ := k.rules.Validate(ctx, field.NewPath("root"), k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	if len(errs) > 0 {
		return admission.Denied(errs.ToAggregate().Error())
	}
	return admission.Allowed("")
}

func main() {
	ctrllog.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	k, err := readKind(os.Args[1], "v1")
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, &admission.Webhook{Handler: k}))
}

// Writes the schemas in the form of `terraform providers schema -json`, without Terraform. Generators of bindings read it.
import { presenceOf, type Attribute, type Attributes } from '../framework/attribute.ts';
import type { AnyProvider, ProviderFunction } from '../framework/provider.ts';
import { typeJson, type TypeJson } from '../framework/type.ts';

interface AttributeJson {
  readonly type?: TypeJson;
  readonly nested_type?: {
    readonly attributes: Readonly<Record<string, AttributeJson>>;
    readonly nesting_mode: string;
  };
  readonly description: string;
  readonly description_kind: 'markdown';
  readonly required?: true;
  readonly optional?: true;
  readonly computed?: true;
  readonly sensitive?: true;
  readonly write_only?: true;
}

interface SchemaJson {
  readonly version: number;
  readonly block: {
    readonly attributes: Readonly<Record<string, AttributeJson>>;
    readonly description: string;
    readonly description_kind: 'markdown';
  };
}

/** Equals Terraform's own output; `source` is the address of the provider there. */
export function providersSchema<C>(provider: AnyProvider<C>, source: string): object {
  const byType = (
    list: readonly {
      readonly typeName: string;
      readonly version?: number;
      readonly doc: string;
      readonly attributes: Attributes;
    }[],
  ) =>
    Object.fromEntries(list.map((each) => [each.typeName, schemaJson(each.version ?? 0, each.doc, each.attributes)]));
  return {
    format_version: '1.0',
    provider_schemas: {
      [source]: {
        provider: schemaJson(0, provider.doc, provider.attributes),
        resource_schemas: byType(provider.resources),
        data_source_schemas: byType(provider.dataSources),
        ...(provider.ephemeralResources.length === 0
          ? {}
          : { ephemeral_resource_schemas: byType(provider.ephemeralResources) }),
        ...(provider.functions.length === 0
          ? {}
          : { functions: Object.fromEntries(provider.functions.map((each) => [each.name, functionJson(each)])) }),
      },
    },
  };
}

const schemaJson = (version: number, doc: string, attributes: Attributes): SchemaJson => ({
  version,
  block: { attributes: attributesJson(attributes), description: doc, description_kind: 'markdown' },
});

const attributesJson = (attributes: Attributes): Record<string, AttributeJson> =>
  Object.fromEntries(Object.entries(attributes).map(([name, attribute]) => [name, attributeJson(attribute)]));

function attributeJson(attribute: Attribute<unknown>): AttributeJson {
  const { nested } = attribute;
  const presence = presenceOf(attribute);
  return {
    ...(nested === undefined
      ? { type: typeJson(attribute.type) }
      : { nested_type: { attributes: attributesJson(nested.attributes), nesting_mode: nested.nesting } }),
    description: attribute.doc,
    description_kind: 'markdown',
    ...(presence.required ? { required: true } : {}),
    ...(presence.optional ? { optional: true } : {}),
    ...(presence.computed ? { computed: true } : {}),
    ...(attribute.sensitive === true ? { sensitive: true } : {}),
    ...(attribute.writeOnly === true ? { write_only: true } : {}),
  };
}

const functionJson = ({ summary, doc, returns, parameters }: ProviderFunction): object => ({
  description: doc,
  summary,
  return_type: typeJson(returns),
  parameters: parameters.map(({ name, doc: description, type }) => ({ name, description, type: typeJson(type) })),
});

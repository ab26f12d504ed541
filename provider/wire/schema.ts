// Turns schemas, functions, paths and diagnostics of the framework into messages of the protocol.
import { type Attribute, type Attributes, presenceOf } from '../framework/attribute.ts';
import type { Diagnostic } from '../framework/diagnostic.ts';
import type { Path } from '../framework/path.ts';
import type { ProviderFunction } from '../framework/provider.ts';
import { typeJson, type Type } from '../framework/type.ts';
import { markdown, nestings, severities, type WireAttribute } from './messages.ts';

const none = new Uint8Array();
export const typeBytes = (type: Type): Uint8Array => Buffer.from(JSON.stringify(typeJson(type)));

export const wireSchema = (version: number, doc: string, attributes: Attributes) => ({
  version,
  block: { version, attributes: wireAttributes(attributes), doc, docKind: markdown },
});

/** In the order of their names, as Terraform itself lists them. */
const wireAttributes = (attributes: Attributes): readonly WireAttribute[] =>
  Object.entries(attributes)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, attribute]) => wireAttribute(name, attribute));

function wireAttribute(name: string, attribute: Attribute<unknown>): WireAttribute {
  const { nested } = attribute;
  return {
    name,
    type: nested === undefined ? typeBytes(attribute.type) : none,
    doc: attribute.doc,
    ...presenceOf(attribute),
    sensitive: attribute.sensitive === true,
    docKind: markdown,
    writeOnly: attribute.writeOnly === true,
    nested:
      nested === undefined
        ? undefined
        : { attributes: wireAttributes(nested.attributes), nesting: nestings[nested.nesting] },
  };
}

export const wireFunction = ({ parameters, returns, summary, doc }: ProviderFunction) => ({
  parameters: parameters.map((each) => ({
    name: each.name,
    type: typeBytes(each.type),
    doc: each.doc,
    docKind: markdown,
  })),
  returns: { type: typeBytes(returns) },
  summary,
  doc,
  docKind: markdown,
});

export const wirePath = (path: Path) => ({
  steps: path.map((step) => ({
    attribute: 'attribute' in step ? step.attribute : undefined,
    key: 'key' in step ? step.key : undefined,
    index: 'index' in step ? step.index : undefined,
  })),
});

export const wireDiagnostics = (diagnostics: readonly Diagnostic[]) =>
  diagnostics.map(({ severity, summary, detail, path }) => ({
    severity: severities[severity],
    summary,
    detail,
    attribute: path === undefined ? undefined : wirePath(path),
  }));

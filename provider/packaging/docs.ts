// Generates the documentation of the provider for registries from the schemas: one page for each resource, data source and function. Pure.
import { presenceOf, type Attribute, type Attributes } from '../framework/attribute.ts';
import { listable, type AnyProvider, type AnyResource, type ProviderFunction } from '../framework/provider.ts';
import { typeJson, type Type } from '../framework/type.ts';

/** Path below docs/ to content. `example`: the text of a file below examples/. */
export function renderDocs<C>(
  provider: AnyProvider<C>,
  example: (path: string) => string,
): ReadonlyMap<string, string> {
  const short = (typeName: string): string => typeName.slice(provider.name.length + 1);
  return new Map([
    [
      'index.md',
      page(
        'Provider',
        `${provider.name} provider`,
        { ...provider, example: example('provider/provider.tf') },
        binding('provider', `${provider.name}_provider`),
      ),
    ],
    ...provider.resources.map((each) => {
      const name = short(each.typeName);
      const end = `${importing(each)}\n\n${binding(name, name)}`;
      return [
        `resources/${name}.md`,
        page('Resource', each.typeName, { ...each, example: example(`resources/${each.typeName}/resource.tf`) }, end),
      ] as const;
    }),
    ...provider.dataSources.map((each) => {
      const name = `data_${each.typeName}`;
      return [
        `data-sources/${short(each.typeName)}.md`,
        page(
          'Data Source',
          each.typeName,
          { ...each, example: example(`data-sources/${each.typeName}/data-source.tf`) },
          binding(name, name),
        ),
      ] as const;
    }),
    ...provider.ephemeralResources.map((each) => {
      const name = short(each.typeName);
      const end = `${ephemeralVersion}\n\n${ephemeralBinding(`ephemeral_${each.typeName}`)}`;
      return [
        `ephemeral-resources/${name}.md`,
        page(
          'Ephemeral Resource',
          each.typeName,
          { ...each, example: example(`ephemeral-resources/${each.typeName}/ephemeral-resource.tf`) },
          end,
        ),
      ] as const;
    }),
    ...listable(provider).map((each) => {
      const title = `list-resources/${short(each.typeName)}.md`;
      return [
        title,
        page(
          'List Resource',
          each.typeName,
          { ...each, example: example(`list-resources/${each.typeName}/list-resource.tfquery.hcl`) },
          queryVersion,
        ),
      ] as const;
    }),
    ...(provider.actions ?? []).map(
      (each) =>
        [
          `actions/${short(each.typeName)}.md`,
          page(
            'Action',
            each.typeName,
            { ...each, example: example(`actions/${each.typeName}/action.tf`) },
            actionVersion,
          ),
        ] as const,
    ),
    ...provider.functions.map(
      (each) =>
        [`functions/${each.name}.md`, functionPage(each, example(`functions/${each.name}/function.tf`))] as const,
    ),
  ]);
}

interface Documented {
  readonly doc: string;
  readonly example: string;
  readonly attributes: Attributes;
}

const page = (kind: string, title: string, { doc, example, attributes }: Documented, end = ''): string =>
  [
    front(`${title} ${kind === 'Provider' ? '' : kind}`.trim(), doc),
    `# ${title}${kind === 'Provider' ? '' : ` (${kind})`}`,
    doc,
    '## Example',
    fenced(example),
    '## Schema',
    ...sections(attributes, '###'),
    ...nestedSections(attributes, ''),
    ...(end === '' ? [] : [end]),
  ].join('\n\n') + '\n';

const front = (title: string, doc: string): string =>
  ['---', `page_title: ${JSON.stringify(title)}`, 'description: |-', `  ${doc}`, '---'].join('\n');

const fenced = (text: string, language = 'terraform'): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

function sections(attributes: Attributes, level: string): readonly string[] {
  const all = Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const groups = [
    ['Required', all.filter(([, each]) => presenceOf(each).required)],
    ['Optional', all.filter(([, each]) => presenceOf(each).optional)],
    ['Read-Only', all.filter(([, each]) => !presenceOf(each).required && !presenceOf(each).optional)],
  ] as const;
  return groups.flatMap(([title, members]) =>
    members.length === 0
      ? []
      : [`${level} ${title}`, members.map(([name, each]) => attributeLine(name, each)).join('\n')],
  );
}

function attributeLine(name: string, attribute: Attribute<unknown>): string {
  const facts = [
    typeName(attribute),
    ...(attribute.sensitive === true ? ['Sensitive'] : []),
    ...(attribute.writeOnly === true ? ['Write-only'] : []),
  ];
  const notes = [
    ...(attribute.default === undefined ? [] : [`Default: \`${JSON.stringify(attribute.default)}\`.`]),
    ...(attribute.replace === true ? ['A change replaces the object.'] : []),
    ...(attribute.nested === undefined ? [] : [`See [below](#nested-schema-for-${name}).`]),
  ];
  return `- \`${name}\` (${facts.join(', ')}) ${[attribute.doc, ...notes].join(' ')}`;
}

function typeName({ type, nested }: Attribute<unknown>): string {
  if (nested === undefined) return shown(type);
  return { single: 'Attributes', list: 'List of Attributes', map: 'Map of Attributes' }[nested.nesting];
}

function shown(type: Type): string {
  if (typeof type === 'string') return { string: 'String', number: 'Number', bool: 'Boolean' }[type];
  if (type.kind === 'dynamic') return shown(type.item);
  if (type.kind === 'object') return `Object ${JSON.stringify(typeJson(type))}`;
  return `${type.kind === 'list' ? 'List' : 'Map'} of ${shown(type.item)}`;
}

/** Sections for nested attributes at every depth, with an anchor of their name. */
function nestedSections(attributes: Attributes, prefix: string): readonly string[] {
  return Object.entries(attributes)
    .filter(([, { nested }]) => nested !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { nested }]) => {
      const path = `${prefix}${name}`;
      const inner = nested?.attributes ?? {};
      return [
        `<a id="nested-schema-for-${name}"></a>\n\n### Nested Schema for \`${path}\``,
        ...sections(inner, '####'),
        ...nestedSections(inner, `${path}.`),
      ];
    });
}

/** Its name in the bindings for CDKTF and cdktn. */
const binding = (namespace: string, type: string): string =>
  `## In TypeScript\n\n\`${camel(namespace)}.${capital(camel(type))}\`, from \`gantry/cdktf\` and \`gantry/cdktn\`. Arguments have the names above, in camelCase.`;

const queryVersion =
  'Requires Terraform 1.14 or newer: the block stands in a `*.tfquery.hcl` file, the arguments in its `config` block, and `terraform query` shows what it finds; `terraform query -generate-config-out=found.tf` writes resources with their imports.';

const actionVersion =
  'Requires Terraform 1.14 or newer: `terraform apply -invoke=action.<type>.<name>` runs it, or an `action_trigger` in the `lifecycle` of a resource.';

const ephemeralVersion = 'Requires Terraform 1.10 or OpenTofu 1.11, or newer.';

/** CDKTF does not support ephemeral resources. */
const ephemeralBinding = (name: string): string =>
  `## In TypeScript\n\n\`${camel(name)}.${capital(camel(name))}\`, from \`gantry/cdktn\` only. Arguments have the names above, in camelCase.`;

const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const capital = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;

function importing<C>({ typeName: name, importing: { doc, example } }: AnyResource<C>): string {
  if (example === '') return `## Import\n\nImport is ${doc}.`;
  const block = `import {\n  to = ${name}.example\n  id = ${JSON.stringify(example)}\n}`;
  return [
    `## Import`,
    `The id is ${doc}.`,
    fenced(block),
    fenced(`terraform import ${name}.example '${example}'`, 'shell'),
  ].join('\n\n');
}

const functionPage = ({ name, summary, doc, parameters, returns }: ProviderFunction, example: string): string =>
  [
    front(`${name} function`, summary),
    `# function: ${name}`,
    doc,
    '## Example',
    fenced(example),
    '## Signature',
    fenced(
      `${name}(${parameters.map((each) => `${each.name} ${shown(each.type).toLowerCase()}`).join(', ')}) ${shown(returns)}`,
      'text',
    ),
    '## Arguments',
    parameters.map((each) => `1. \`${each.name}\` (${shown(each.type)}) ${each.doc}`).join('\n'),
  ].join('\n\n') + '\n';

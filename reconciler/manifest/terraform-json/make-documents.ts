// Makes manifest documents of evaluated resources: objects first, then what is inside containers goes into their documents, then who
// waits for whom. Or says which resources cannot be carried over.
import type { KindName } from '../../../server/api/kinds.ts';
import { hint } from '../../../server/api/nearest.ts';
import { projectKinds } from '../../../server/api/manifest-schema.ts';
import { addressOf, type Json, type JsonObject } from '../../core/document.ts';
import { isMap } from '../../core/kinds/values.ts';
import { scopedName } from '../../core/scoped-name.ts';
import { listOf, type Evaluation, type Instance } from './evaluate-config.ts';
import { toPlain } from './expression/json-text.ts';
import { parseExpression } from './expression/parse.ts';
import { ExpressionError, type Expression } from './expression/syntax.ts';
import { isWhole } from './expression/values.ts';
import type { Report } from './problem.ts';
import type { Providers, ProviderSettings } from './provider-blocks.ts';
import type { Resource } from './read-config.ts';
import {
  ArgumentError,
  isPart,
  isSet,
  wordOf,
  type Arguments,
  type ObjectType,
  type PartType,
} from './resource-type.ts';
import { resourceTypeOf } from './resource-types.ts';

export interface TerraformDocument {
  /** A flat document, as a manifest would hold it. */
  readonly value: JsonObject;
  /** `gantry_container.web[0]`. */
  readonly address: string;
  readonly file: string;
  /** To the resource in the file. */
  readonly steps: readonly string[];
  /** Where paths of the document are written, when elsewhere: paths in the resource. */
  readonly writtenAs: Readonly<Record<string, string>>;
  /** The same for what other resources of the file put into it: paths in the file. */
  readonly writtenBy: Readonly<Record<string, string>>;
  /** Paths of the document whose values came out of sensitive variables. */
  readonly sensitive: readonly string[];
}

interface Draft {
  readonly instance: Instance;
  readonly type: ObjectType;
  readonly settings: ProviderSettings;
  readonly value: Record<string, Json>;
  readonly writtenAs: Readonly<Record<string, string>>;
  readonly writtenBy: Record<string, string>;
  readonly sensitive: string[];
  /** What stands inside it, with it. */
  readonly instances: Instance[];
}

interface Part {
  readonly instance: Instance;
  readonly type: PartType;
  readonly container: string;
  readonly entry: JsonObject;
}

export function makeDocuments(
  instances: readonly Instance[],
  { evaluation, providers, report }: { evaluation: Evaluation; providers: Providers; report: Report },
): readonly TerraformDocument[] {
  const drafts: Draft[] = [];
  const parts: Part[] = [];
  for (const instance of instances) {
    guarded(instance, report, () => {
      const type = resourceTypeOf(instance.resource.type);
      const args = argumentsOf(instance, type?.arguments ?? new Set(), report);
      if (type === undefined || args === undefined) return;
      const name = `${instance.resource.name}${instance.address.slice(instance.resource.address.length)}`;
      if (isPart(type)) {
        parts.push({
          instance,
          type,
          container: wordOf(args[type.holder ?? 'container']),
          entry: type.entry(args, name),
        });
      } else drafts.push(draftOf(instance, type, args, name, providers.settingsOf(instance.resource)));
    });
  }
  const byAddress = new Map(drafts.map((draft) => [documentAddress(draft), draft]));
  for (const part of inOrder(parts, evaluation)) {
    guarded(part.instance, report, () => place(part, byAddress, providers.settingsOf(part.instance.resource)));
  }
  const holders = new Map(drafts.flatMap((draft) => draft.instances.map((each) => [each.address, draft] as const)));
  for (const draft of drafts) guarded(draft.instance, report, () => addNeeds(draft, instances, holders, evaluation));
  return drafts.map(({ instance: { resource, address }, value, writtenAs, writtenBy, sensitive }) => {
    const { file, steps } = resource;
    return { value, address, file, steps, writtenAs, writtenBy, sensitive };
  });
}

/** What cannot be carried over is reported. */
function guarded({ resource, address }: Instance, report: Report, work: () => void): void {
  const { file, steps, construct } = resource;
  const where = { file, ...(construct === undefined ? {} : { construct }) };
  try {
    work();
  } catch (error) {
    const message = `${address}: ${(error as Error).message}`;
    if (error instanceof PartError) report({ code: 'E_PART', message, steps: [...steps, error.argument], ...where });
    else if (error instanceof ArgumentError)
      report({ code: 'E_ARGUMENT', message, steps: [...steps, error.argument], ...where });
    else if (error instanceof ExpressionError)
      report({ code: error.code, message, steps: [...steps, 'lifecycle'], ...where });
    else throw error;
  }
}

/** Plain; undefined, and reported, when some are not known. */
function argumentsOf(instance: Instance, names: ReadonlySet<string>, report: Report): Arguments | undefined {
  const { file, steps, construct } = instance.resource;
  const written = Object.entries(instance.args).filter(([name]) => names.has(name));
  const unsure = written.filter(([, value]) => !isWhole(value)).map(([name]) => name);
  for (const name of unsure) {
    const message = `${instance.address}: ${name} is known after an apply only`;
    const where = { file, ...(construct === undefined ? {} : { construct }) };
    report({ code: 'E_UNKNOWN_VALUE', message, steps: [...steps, name], ...where });
  }
  if (unsure.length > 0) return undefined;
  return Object.fromEntries(written.map(([name, value]) => [name, toPlain(value) as Json]));
}

function draftOf(
  instance: Instance,
  type: ObjectType,
  args: Arguments,
  name: string,
  settings: ProviderSettings,
): Draft {
  const manage = { ...type.manage?.(args), ...lifecycleOf(instance.resource) };
  const writtenAs = type.writtenAs?.(args) ?? {};
  const shown = Object.entries(writtenAs);
  const ofProvider = {
    ...(projectKinds.includes(type.kind) && settings.project !== undefined ? { project: settings.project } : {}),
    ...(type.kind === 'container' && settings.target !== undefined ? { target: settings.target } : {}),
  };
  return {
    instance,
    type,
    settings,
    value: {
      kind: type.kind,
      ...ofProvider,
      ...type.document(args, name, settings),
      ...(Object.keys(manage).length === 0 ? {} : { manage }),
    },
    writtenAs,
    writtenBy: {},
    sensitive: [...instance.sensitive].flatMap((argument) => {
      const moved = shown.filter(([, written]) => written === argument || written.startsWith(`${argument}.`));
      return moved.some(([path]) => path === argument) || moved.length === 0
        ? [argument]
        : [argument, ...moved.map(([path]) => path)];
    }),
    instances: [instance],
  };
}

/** `container/web`, as `depends_on` of documents says it. */
function documentAddress({ type: { kind }, value }: Pick<Draft, 'type' | 'value'>): string {
  const { name, pool, project } = value;
  const plain = kind === 'storage_volume' ? `${wordOf(pool)}/${wordOf(name)}` : isSet(name) ? wordOf(name) : 'server';
  return addressOf(kind, scopedName(plain, typeof project === 'string' ? project : undefined));
}

class PartError extends Error {
  readonly argument: string;
  constructor(argument: string, message: string) {
    super(message);
    this.argument = argument;
  }
}

function place(
  { instance, type, container, entry }: Part,
  drafts: ReadonlyMap<string, Draft>,
  settings: ProviderSettings,
): void {
  const draft = drafts.get(addressOf('container', scopedName(container, settings.project)));
  if (draft === undefined) {
    const names = [...drafts.values()]
      .filter(({ type: { kind } }) => kind === 'container')
      .map(({ value }) => wordOf(value['name']));
    throw new PartError(
      type.holder ?? 'container',
      `the container ${container} is not in this configuration${hint(container, names)}`,
    );
  }
  const { partOf } = type;
  const before = draft.value[partOf];
  const list = Array.isArray(before) ? (before as readonly Json[]) : [];
  draft.value[partOf] = [...list, entry];
  const path = `${partOf}.${list.length}`;
  if (instance.resource.file === draft.instance.resource.file)
    draft.writtenBy[path] = instance.resource.steps.join('.');
  if (instance.sensitive.size > 0) draft.sensitive.push(path);
  draft.instances.push(instance);
}

/** Those that others need first, otherwise as they are written. */
function inOrder(parts: readonly Part[], evaluation: Evaluation): readonly Part[] {
  const byResource = new Map<string, Part[]>();
  for (const part of parts) {
    const { address } = part.instance.resource;
    byResource.set(address, [...(byResource.get(address) ?? []), part]);
  }
  const done = new Set<string>();
  const ordered: Part[] = [];
  const visit = (address: string): void => {
    const members = byResource.get(address);
    const resource = members?.[0]?.instance.resource;
    if (members === undefined || resource === undefined || done.has(address)) return;
    done.add(address);
    for (const need of [...evaluation.needsOf(resource), ...dependsOn(resource)]) visit(need.replace(/\[.*$/, ''));
    ordered.push(...members);
  };
  for (const address of byResource.keys()) visit(address);
  return ordered;
}

const dependsOn = ({ body }: Resource): readonly string[] => {
  const written = body['depends_on'];
  return Array.isArray(written)
    ? (written as readonly Json[]).map((each) => wordOf(each).replace(/^\$\{(.*)\}$/, '$1'))
    : [];
};

/** Kinds that nothing else in a document names, so that the plan would not know who waits for them. */
const unnamed: readonly KindName[] = ['container', 'certificate', 'server_config'];

function addNeeds(
  draft: Draft,
  all: readonly Instance[],
  holders: ReadonlyMap<string, Draft>,
  evaluation: Evaluation,
): void {
  const needed = new Set<string>();
  const own = draft.instance.resource;
  for (const { resource } of draft.instances) {
    const add = (holder: Draft | undefined): void => {
      // What is inside refers to its container, perhaps by all that were made beside it.
      const isOwn = holder === draft || (resource !== own && holder?.instance.resource === own);
      if (holder !== undefined && !isOwn) needed.add(documentAddress(holder));
    };
    for (const target of dependsOn(resource)) {
      const found = all.filter(({ address, resource: { address: whole } }) => address === target || whole === target);
      if (found.length === 0) {
        const near = hint(
          target,
          all.map(({ address }) => address),
        );
        throw new ArgumentError('depends_on', `depends_on: there is no ${target}${near}`);
      }
      for (const { address } of found) add(holders.get(address));
    }
    for (const need of evaluation.needsOf(resource)) {
      for (const { address } of evaluation.instancesAt(need)) {
        const holder = holders.get(address);
        if (holder !== undefined && unnamed.includes(holder.type.kind)) add(holder);
      }
    }
  }
  if (needed.size === 0) return;
  const { manage } = draft.value;
  draft.value['manage'] = { ...(isMap(manage) ? manage : {}), depends_on: [...needed] };
}

function lifecycleOf(resource: Resource): JsonObject {
  const ignore: string[] = [];
  let isProtected = false;
  for (const lifecycle of listOf(resource.body['lifecycle'])) {
    if (lifecycle['prevent_destroy'] === true) isProtected = true;
    const changes = lifecycle['ignore_changes'];
    if (changes === 'all') ignore.push('*');
    else if (Array.isArray(changes)) ignore.push(...(changes as readonly Json[]).flatMap((each) => ignoredPaths(each)));
  }
  return { ...(isProtected ? { protect: true } : {}), ...(ignore.length === 0 ? {} : { ignore }) };
}

/** `config["limits.cpu"]` -> `config.limits.cpu`; a map stands for all that is in it. */
function ignoredPaths(written: Json): readonly string[] {
  if (written === 'all') return ['*'];
  if (typeof written !== 'string') throw new ArgumentError('lifecycle', 'ignore_changes must be a list of attributes');
  const steps = stepsIn(parseExpression(written));
  if (steps === undefined) throw new ArgumentError('lifecycle', `ignore_changes: ${written} is no attribute`);
  const path = steps.join('.');
  return ['config', 'devices', 'properties'].includes(steps[0] ?? '') ? [path, `${path}.*`] : [path];
}

function stepsIn(expression: Expression): readonly string[] | undefined {
  if (expression.type === 'name') return [expression.name];
  if (expression.type === 'attribute') return append(stepsIn(expression.object), expression.name);
  if (expression.type === 'index' && expression.key.type === 'literal')
    return append(stepsIn(expression.object), String(expression.key.value));
  return undefined;
}
const append = (steps: readonly string[] | undefined, step: string): readonly string[] | undefined =>
  steps === undefined ? undefined : [...steps, step];

// Makes manifest documents of evaluated resources: first the objects, then their parts, then the dependencies. Reports resources that
// documents cannot express.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { isInProject } from '../../../server/api/kinds.ts';
import { addressOf, type Json, type JsonObject } from '../../core/documents/document.ts';
import { isPlaced } from '../../core/settings/cluster-members.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { isTrue, listOf, type Resource } from './config/blocks.ts';
import { addNeeds, dependedOn } from './document-needs.ts';
import { documentAddress, PartError, type Draft } from './draft.ts';
import type { Evaluation } from './evaluation/evaluation.ts';
import type { Instance } from './evaluation/instance.ts';
import { toPlain } from './expression/json-text.ts';
import { parseExpression } from './expression/parse.ts';
import { ExpressionError, type Expression } from './expression/syntax.ts';
import { isWhole } from './expression/values.ts';
import type { Report } from './problem.ts';
import type { Providers, ProviderSettings } from './provider-blocks.ts';
import {
  ArgumentError,
  isPart,
  isSet,
  wordOf,
  type Arguments,
  type ObjectType,
  type PartType,
} from './types/resource-type.ts';
import { resourceTypeOf } from './types/resource-types.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface TerraformDocument {
  /** A flat document, as in a manifest. */
  readonly value: JsonObject;
  /** `gantry_container.web[0]`. */
  readonly address: string;
  readonly file: string;
  /** The path of the resource in the file. */
  readonly steps: readonly string[];
  /** Document paths whose place in the resource differs, with that path. */
  readonly writtenAs: Readonly<Record<string, string>>;
  /** Document paths from other resources of the file, with their path in the file. */
  readonly writtenBy: Readonly<Record<string, string>>;
  /** Paths of the document with values of sensitive variables. */
  readonly sensitive: readonly string[];
  /** An import block names it. */
  readonly isImported: boolean;
}

interface Part {
  readonly instance: Instance;
  readonly type: PartType;
  /** Name of the container, or of the volume with its pool. */
  readonly holder: string;
  /** Its own project, when it has one. */
  readonly project: string | undefined;
  readonly entry: JsonObject;
}

interface Making {
  readonly evaluation: Evaluation;
  readonly providers: Providers;
  /** Addresses of instances that import blocks name. */
  readonly imported: ReadonlySet<string>;
  readonly report: Report;
}

export function makeDocuments(
  instances: readonly Instance[],
  { evaluation, providers, imported, report }: Making,
): readonly TerraformDocument[] {
  const drafts: Draft[] = [];
  const parts: Part[] = [];
  for (const instance of instances) {
    guarded(instance, report, () => {
      const type = resourceTypeOf(instance.resource.type);
      const args = argumentsOf(instance, type?.arguments ?? new Set(), report);
      if (type === undefined || args === undefined) return;
      if (isPart(type)) {
        parts.push({
          instance,
          type,
          holder: `${type.isOfVolume === true ? `${wordOf(args['pool'])}/` : ''}${wordOf(args[type.holder ?? 'container'])}`,
          project: isSet(args['project']) && args['project'] !== '' ? wordOf(args['project']) : undefined,
          entry: type.entry(args, instance.name),
        });
      } else drafts.push(draftOf(instance, type, args, providers.settingsOf(instance)));
    });
  }
  const byAddress = new Map(drafts.map((draft) => [documentAddress(draft), draft]));
  for (const part of inOrder(parts, evaluation)) {
    guarded(part.instance, report, () => place(part, byAddress, providers.settingsOf(part.instance)));
  }
  addNeeds(drafts, evaluation, (instance, work) => guarded(instance, report, work));
  return drafts.map(({ instance: { resource, address }, value, writtenAs, writtenBy, sensitive }) => {
    const { file, steps } = resource;
    const isImported = imported.has(address);
    return { value, address, file, steps, writtenAs, writtenBy, sensitive, isImported };
  });
}

/** Reports resources that documents cannot express. */
function guarded({ resource, address }: Instance, report: Report, work: () => void): void {
  const { file, steps, construct } = resource;
  const where = { file, ...withoutUndefined({ construct }) };
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

/** Plain arguments; undefined, with problems, when some are unknown. */
function argumentsOf(instance: Instance, names: ReadonlySet<string>, report: Report): Arguments | undefined {
  const { file, steps, construct } = instance.resource;
  const written = Object.entries(instance.args).filter(([name]) => names.has(name));
  const unsure = written.filter(([, value]) => !isWhole(value)).map(([name]) => name);
  for (const name of unsure) {
    const message = `${instance.address}: ${name} is known after an apply only`;
    const where = { file, ...withoutUndefined({ construct }) };
    report({ code: 'E_UNKNOWN_VALUE', message, steps: [...steps, name], ...where });
  }
  if (unsure.length > 0) return undefined;
  return Object.fromEntries(written.map(([name, value]) => [name, toPlain(value) as Json]));
}

function draftOf(instance: Instance, type: ObjectType, args: Arguments, settings: ProviderSettings): Draft {
  const manage = { ...type.manage?.(args), ...lifecycleOf(instance.resource) };
  const writtenAs = type.writtenAs?.(args) ?? {};
  const shown = Object.entries(writtenAs);
  const ofProvider = {
    ...(isInProject(type.kind) && settings.project !== undefined ? { project: settings.project } : {}),
    ...(isPlaced(type) && settings.target !== undefined ? { target: settings.target } : {}),
  };
  return {
    instance,
    type,
    settings,
    value: {
      kind: type.kind,
      ...ofProvider,
      ...type.document(args, instance.name, settings),
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

function place(
  { instance, type, holder, project, entry }: Part,
  drafts: ReadonlyMap<string, Draft>,
  settings: ProviderSettings,
): void {
  const kind = type.isOfVolume === true ? 'storage_volume' : 'container';
  const draft = drafts.get(addressOf(kind, scopedName(holder, project ?? settings.project)));
  if (draft === undefined) {
    const names = [...drafts.values()]
      .filter((each) => each.type.kind === kind)
      .map(({ value }) =>
        kind === 'container' ? wordOf(value['name']) : `${wordOf(value['pool'])}/${wordOf(value['name'])}`,
      );
    throw new PartError(
      type.holder ?? 'container',
      `the ${kind.replace('storage_', '')} ${holder} is not in this configuration${hint(holder, names)}`,
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

/** Dependencies first, otherwise in the written order. */
function inOrder(parts: readonly Part[], evaluation: Evaluation): readonly Part[] {
  const byAddress = new Map(parts.map((part) => [part.instance.address, part]));
  const done = new Set<string>();
  const ordered: Part[] = [];
  const visit = (part: Part): void => {
    const { address } = part.instance;
    if (done.has(address)) return;
    done.add(address);
    for (const need of [...evaluation.neededBy(part.instance), ...dependedOn(part.instance, evaluation)]) {
      const other = byAddress.get(need.address);
      if (other !== undefined) visit(other);
    }
    ordered.push(part);
  };
  for (const part of parts) visit(part);
  return ordered;
}

function lifecycleOf(resource: Resource): JsonObject {
  const ignore: string[] = [];
  let isProtected = false;
  for (const lifecycle of listOf(resource.body['lifecycle'])) {
    if (isTrue(lifecycle['prevent_destroy'])) isProtected = true;
    const changes = lifecycle['ignore_changes'];
    if (changes === 'all') ignore.push('*');
    else if (Array.isArray(changes)) ignore.push(...(changes as readonly Json[]).flatMap((each) => ignoredPaths(each)));
  }
  return { ...(isProtected ? { protect: true } : {}), ...(ignore.length === 0 ? {} : { ignore }) };
}

/** `config["limits.cpu"]` -> `config.limits.cpu`; a map covers all of its keys. */
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

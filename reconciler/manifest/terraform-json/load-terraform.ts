// From Terraform JSON files to manifest documents: all of them, or every reason why not. What a document means is not known here.
import { hint } from '../../../server/api/nearest.ts';
import type { Json, JsonObject } from '../../core/document.ts';
import { Evaluation, listOf, type Instance } from './evaluate-config.ts';
import { toPlain } from './expression/json-text.ts';
import { parseExpression } from './expression/parse.ts';
import { ExpressionError, type Expression } from './expression/syntax.ts';
import { isWhole } from './expression/values.ts';
import type { Problem, Report } from './problem.ts';
import { readConfig, type Config, type ConfigFile, type Piece, type Resource } from './read-config.ts';
import { ArgumentError, ownPrefixes, resourceTypes, wordOf, type ResourceType } from './resource-types.ts';

export interface TerraformDocument {
  /** A flat document, as a manifest would hold it. */
  readonly value: JsonObject;
  /** `gantry_container.web[0]`. */
  readonly address: string;
  readonly file: string;
  /** To the resource in the file. */
  readonly steps: readonly string[];
  /** From a path in the document to one in the resource. */
  readonly writtenAs: Readonly<Record<string, string>>;
  /** Keys of the document whose values came out of sensitive variables. */
  readonly sensitive: readonly string[];
}

export interface TerraformLoad {
  /** Empty when there are problems. */
  readonly documents: readonly TerraformDocument[];
  readonly problems: readonly Problem[];
  /** What was left out and is of no consequence. */
  readonly notices: readonly string[];
  readonly outputs: ReadonlyMap<string, { readonly value: unknown; readonly isSensitive: boolean }>;
}

/** `given`: values of variables from outside. */
export function loadTerraform(files: readonly ConfigFile[], given: ReadonlyMap<string, Json>): TerraformLoad {
  const problems: Problem[] = [];
  const report: Report = (problem) => void problems.push(problem);
  const config = readConfig(files, report);
  for (const resource of config.resources.values()) checkResource(resource, report);
  for (const name of given.keys()) checkGiven(name, config, report);
  const typeOf = (type: string): ResourceType | undefined =>
    Object.hasOwn(resourceTypes, type) ? resourceTypes[type] : undefined;
  const evaluation = new Evaluation({ config, given, typeOf, report });
  const instances = evaluation.instances();
  const outputs = evaluation.outputs();
  for (const each of config.imports) checkImport(each, evaluation, instances, report);
  const documents =
    problems.length > 0 ? [] : instances.flatMap((instance) => documentOf(instance, instances, typeOf, report));
  return {
    documents: problems.length > 0 ? [] : documents,
    problems: distinct(problems),
    notices: config.ignored,
    outputs,
  };
}

function checkGiven(name: string, config: Config, report: Report): void {
  if (config.variables.has(name)) return;
  const message = `there is no variable ${name}${hint(name, [...config.variables.keys()])}`;
  report({ code: 'E_VARIABLE', message, file: [...config.resources.values()][0]?.file ?? '', steps: [] });
}

function checkResource(resource: Resource, report: Report): void {
  const { type, address, file, steps, construct, body } = resource;
  const tell = (code: Problem['code'], message: string, step?: string): void =>
    report({
      code,
      message,
      file,
      steps: step === undefined ? steps : [...steps, step],
      ...(construct === undefined ? {} : { construct }),
    });
  const known = Object.hasOwn(resourceTypes, type) ? resourceTypes[type] : undefined;
  if (known === undefined) {
    const isOwn = ownPrefixes.some((prefix) => type.startsWith(prefix));
    if (isOwn)
      tell(
        'E_UNKNOWN_RESOURCE',
        `${address}: the type ${type} is not available here${hint(type, Object.keys(resourceTypes))}`,
      );
    else tell('E_FOREIGN_RESOURCE', `${address} is of another provider`);
    return;
  }
  if (body['provisioner'] !== undefined || body['connection'] !== undefined)
    tell('E_PROVISIONER', `${address} has a provisioner`);
  if (body['dynamic'] !== undefined) tell('E_DYNAMIC', `${address} has a dynamic block`, 'dynamic');
  const meta = [
    '//',
    'count',
    'for_each',
    'depends_on',
    'provider',
    'lifecycle',
    'provisioner',
    'connection',
    'dynamic',
  ];
  for (const name of Object.keys(body)) {
    if (meta.includes(name) || known.arguments.has(name)) continue;
    tell('E_ARGUMENT', `${address} has no argument ${name}${hint(name, [...known.arguments])}`, name);
  }
  for (const lifecycle of listOf(body['lifecycle'])) {
    if (lifecycle['create_before_destroy'] === true)
      tell('E_CREATE_BEFORE_DESTROY', `${address}: create_before_destroy`, 'lifecycle');
    if (listLength(lifecycle['replace_triggered_by']) > 0)
      tell('E_REPLACE_TRIGGER', `${address}: replace_triggered_by`, 'lifecycle');
    if (lifecycle['postcondition'] !== undefined) tell('E_POSTCONDITION', `${address}: a postcondition`, 'lifecycle');
  }
}

const listLength = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);

function documentOf(
  instance: Instance,
  all: readonly Instance[],
  typeOf: (type: string) => ResourceType | undefined,
  report: Report,
): readonly TerraformDocument[] {
  const { resource, address } = instance;
  const { file, steps, construct } = resource;
  const where = { file, ...(construct === undefined ? {} : { construct }) };
  const type = typeOf(resource.type);
  if (type === undefined) return [];
  const values = Object.entries(instance.values).filter(([name]) => type.arguments.has(name));
  const unsure = values.filter(([, value]) => !isWhole(value)).map(([name]) => name);
  for (const name of unsure) {
    const message = `${address}: ${name} is known after an apply only`;
    report({ code: 'E_UNKNOWN_VALUE', message, steps: [...steps, name], ...where });
  }
  if (unsure.length > 0) return [];
  const args = Object.fromEntries(values.map(([name, value]) => [name, toPlain(value) as Json]));
  try {
    const manage = { ...type.manage?.(args), ...lifecycleOf(resource), ...dependsOn(resource, all, typeOf) };
    const value = {
      kind: type.kind,
      ...type.document(args, `${resource.name}${address.slice(resource.address.length)}`),
      ...(Object.keys(manage).length === 0 ? {} : { manage }),
    };
    const { writtenAs = {} } = type;
    const shown = Object.entries(writtenAs);
    const sensitive = [...instance.sensitive].map((name) => shown.find(([, written]) => written === name)?.[0] ?? name);
    return [{ value, address, file, steps, writtenAs, sensitive }];
  } catch (error) {
    if (error instanceof ArgumentError) {
      report({
        code: 'E_ARGUMENT',
        message: `${address}: ${error.message}`,
        steps: [...steps, error.argument],
        ...where,
      });
    } else if (error instanceof ExpressionError) {
      report({ code: error.code, message: `${address}: ${error.message}`, steps: [...steps, 'lifecycle'], ...where });
    } else throw error;
    return [];
  }
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

function dependsOn(
  resource: Resource,
  all: readonly Instance[],
  typeOf: (type: string) => ResourceType | undefined,
): JsonObject {
  const written = resource.body['depends_on'];
  if (!Array.isArray(written)) return {};
  const addresses = (written as readonly Json[]).flatMap((each) => {
    const target = wordOf(each).replace(/^\$\{(.*)\}$/, '$1');
    const found = all.filter(({ address, resource: { address: whole } }) => address === target || whole === target);
    if (found.length === 0)
      throw new ArgumentError(
        'depends_on',
        `depends_on: there is no ${target}${hint(
          target,
          all.map(({ address }) => address),
        )}`,
      );
    return found.map((instance) => {
      const name = instance.values['name'];
      return `${typeOf(instance.resource.type)?.kind ?? ''}/${typeof name === 'string' ? name : ''}`;
    });
  });
  return addresses.length === 0 ? {} : { depends_on: [...new Set(addresses)] };
}

/** An object that is there is taken over by its name anyway; an import that means another name would be lost silently. */
function checkImport(piece: Piece, evaluation: Evaluation, instances: readonly Instance[], report: Report): void {
  const target = typeof piece.body['to'] === 'string' ? piece.body['to'].replace(/^\$\{(.*)\}$/, '$1') : '';
  const id = evaluation.evaluate(piece.body['id'] ?? null, { place: piece });
  const instance = instances.find(({ address, resource }) => address === target || resource.address === target);
  const name = instance?.values['name'];
  const isSame =
    typeof id === 'string' &&
    typeof name === 'string' &&
    (id === name || id.split(',')[0]?.endsWith(`/${name}`) === true || id.split(',')[0] === name);
  if (isSame) return;
  const message =
    instance === undefined
      ? `import: there is no ${target}`
      : `import: ${typeof id === 'string' ? id : 'its id'} is not the name of ${target}`;
  report({ code: 'E_IMPORT', message, file: piece.file, steps: piece.steps });
}

function distinct(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const key = JSON.stringify([problem.code, problem.message, problem.file, problem.steps]);
    return seen.has(key) ? false : seen.add(key);
  });
}

// Turns Terraform JSON files into manifest documents, or reports every problem. Independent of the meaning of documents.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import {
  bareName,
  isTrue,
  listOf,
  metaArguments,
  type ConfigFile,
  type Piece,
  type Resource,
} from './config/blocks.ts';
import { readModules, type ModuleFiles, type ModuleTree } from './config/module-tree.ts';
import { Evaluation, type Output } from './evaluation/evaluation.ts';
import type { DataAnswer, DataRequest, Instance } from './evaluation/instance.ts';
import type { VariableSetting } from './evaluation/variables.ts';
import { makeDocuments, type TerraformDocument } from './make-documents.ts';
import type { Problem, Report } from './problem.ts';
import { readProviders } from './provider-blocks.ts';
import { dataTypeOf, dataTypeNames } from './types/schema-facts.ts';
import { resourceTypeOf, ownPrefixes, resourceTypeNames } from './types/resource-types.ts';
import { gantryRefused } from './types/gantry-types.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface TerraformLoad {
  /** Empty when there are problems. */
  readonly documents: readonly TerraformDocument[];
  readonly problems: readonly Problem[];
  /** Notices about ignored parts without effect, and failed checks. */
  readonly notices: readonly string[];
  readonly outputs: ReadonlyMap<string, Output>;
}

export interface TerraformSurroundings {
  /** Files of the folders that local modules are in, by absolute path. */
  readonly modules?: ModuleFiles;
  /** The server's answers for data sources; without them their values are known after an apply only. */
  readonly read?: (request: DataRequest) => DataAnswer;
}

/** `given`: values of variables from outside. */
export function loadTerraform(
  files: readonly ConfigFile[],
  given: ReadonlyMap<string, VariableSetting>,
  { modules = new Map(), read = () => undefined }: TerraformSurroundings = {},
): TerraformLoad {
  const problems: Problem[] = [];
  const report: Report = (problem) => void problems.push(problem);
  const folder = files[0]?.folder ?? '.';
  const tree = readModules(files, folder, modules, report);
  checkTree(tree, report);
  for (const name of given.keys()) checkGiven(name, tree, report);
  const evaluation = new Evaluation({ tree, folder, given, typeOf: resourceTypeOf, dataTypeOf, read, report });
  const instances = evaluation.instances();
  const outputs = evaluation.outputs();
  const imported = new Set(tree.config.imports.flatMap((each) => importedBy(each, evaluation, report)));
  const providers = readProviders(instances, report);
  const documents = problems.length > 0 ? [] : makeDocuments(instances, { evaluation, providers, imported, report });
  return {
    documents: problems.length > 0 ? [] : documents,
    problems: distinct(problems),
    notices: [...new Set([...ignoredIn(tree), ...providers.notices, ...evaluation.warnings()])],
    outputs,
  };
}

const branches = (tree: ModuleTree): readonly ModuleTree[] => [tree, ...[...tree.children.values()].flatMap(branches)];

const ignoredIn = (tree: ModuleTree): readonly string[] =>
  branches(tree).flatMap(({ config }) => [
    ...config.ignored,
    ...(config.removed.length === 0
      ? []
      : ['removed: gantry apply --prune deletes objects that are no longer declared']),
  ]);

function checkTree(tree: ModuleTree, report: Report): void {
  for (const { config, prefix } of branches(tree)) {
    for (const resource of [...config.resources.values(), ...config.data.values()]) checkResource(resource, report);
    for (const piece of config.removed) checkRemoved(piece, config.resources, report);
    if (prefix === '') continue;
    for (const { file, steps } of config.imports)
      report({ code: 'E_IMPORT', message: 'import blocks stand in the root module only', file, steps });
  }
}

function checkGiven(name: string, { config }: ModuleTree, report: Report): void {
  if (config.variables.has(name)) return;
  const message = `there is no variable ${name}${hint(name, [...config.variables.keys()])}`;
  report({ code: 'E_VARIABLE', message, file: [...config.resources.values()][0]?.file ?? '', steps: [] });
}

/** Refuses `removed` blocks that keep the object: gantry has no state, so the object would be pruned. */
function checkRemoved({ body, file, steps }: Piece, resources: ReadonlyMap<string, unknown>, report: Report): void {
  const from = typeof body['from'] === 'string' ? bareName(body['from']) : '';
  const lifecycle = Array.isArray(body['lifecycle']) ? (body['lifecycle'] as readonly Json[])[0] : body['lifecycle'];
  const destroy = (lifecycle as { readonly destroy?: Json } | undefined)?.destroy;
  const refuse = (message: string): void => report({ code: 'E_REMOVED', message, file, steps });
  if (resources.has(from)) refuse(`removed: ${from} is still declared`);
  else if (destroy === false || destroy === 'false') refuse(`removed: without a state, gantry cannot keep ${from}`);
}

/**
 * The address of the instance. An existing object is taken over by its name anyway; an import with another name would be lost
 * silently, so it is refused.
 */
function importedBy({ body, file, steps }: Piece, evaluation: Evaluation, report: Report): readonly string[] {
  const target = typeof body['to'] === 'string' ? bareName(body['to']) : '';
  const refuse = (message: string): readonly [] => {
    report({ code: 'E_IMPORT', message: `import: ${message}`, file, steps });
    return [];
  };
  if (body['for_each'] !== undefined) return refuse('for_each is not evaluated; write a block for each object');
  const id = evaluation.root.evaluate(body['id'] ?? null, { place: { file, steps } });
  const instance = instanceAt(evaluation.instances(), target);
  const name = instance?.values['name'];
  const isSame =
    typeof id === 'string' &&
    typeof name === 'string' &&
    (id === name || id.split(',')[0]?.endsWith(`/${name}`) === true || id.split(',')[0] === name);
  if (isSame) return [instance?.address ?? ''];
  return refuse(
    instance === undefined
      ? `there is no ${target}`
      : `${typeof id === 'string' ? id : 'its id'} is not the name of ${target}`,
  );
}

const instanceAt = (instances: readonly Instance[], target: string): Instance | undefined =>
  instances.find(({ address, resource }) => address === target || resource.address === target);

function distinct(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const key = JSON.stringify([problem.code, problem.message, problem.file, problem.steps]);
    return seen.has(key) ? false : seen.add(key);
  });
}

/** Checks a resource before its evaluation: its type, its arguments, its lifecycle. */
const blocks = [...metaArguments, 'dynamic'];

function checkResource(resource: Resource, report: Report): void {
  const { type, address, file, steps, construct, body } = resource;
  const refuse = (code: Problem['code'], message: string, step?: string): void =>
    report({
      code,
      message,
      file,
      steps: step === undefined ? steps : [...steps, step],
      ...withoutUndefined({ construct }),
    });
  if (resource.mode === 'data') return checkData(resource, refuse);
  const known = resourceTypeOf(type);
  if (known === undefined) {
    const reason = Object.hasOwn(gantryRefused, type) ? gantryRefused[type] : undefined;
    const isOwn = ownPrefixes.some((prefix) => type.startsWith(prefix));
    if (reason !== undefined) refuse('E_UNKNOWN_RESOURCE', `${address}: ${reason}`);
    else if (isOwn)
      refuse(
        'E_UNKNOWN_RESOURCE',
        `${address}: the type ${type} is not available here${hint(type, resourceTypeNames)}`,
      );
    else refuse('E_FOREIGN_RESOURCE', `${address} is of another provider`);
    return;
  }
  if (body['provisioner'] !== undefined || body['connection'] !== undefined)
    refuse('E_PROVISIONER', `${address} has a provisioner`);
  if (body['dynamic'] !== undefined) refuse('E_DYNAMIC', `${address} has a dynamic block`, 'dynamic');
  checkArguments(resource, known.arguments, refuse);
  for (const lifecycle of listOf(body['lifecycle'])) {
    if (isTrue(lifecycle['create_before_destroy']))
      refuse('E_CREATE_BEFORE_DESTROY', `${address}: create_before_destroy`, 'lifecycle');
    if (lengthOf(lifecycle['replace_triggered_by']) > 0)
      refuse('E_REPLACE_TRIGGER', `${address}: replace_triggered_by`, 'lifecycle');
  }
}

type Refuse = (code: Problem['code'], message: string, step?: string) => void;

function checkArguments({ body, address }: Resource, names: ReadonlySet<string>, refuse: Refuse): void {
  for (const name of Object.keys(body)) {
    if (blocks.includes(name) || names.has(name)) continue;
    refuse('E_ARGUMENT', `${address} has no argument ${name}${hint(name, [...names])}`, name);
  }
}

function checkData(resource: Resource, refuse: Refuse): void {
  const { type, address } = resource;
  const known = dataTypeOf(type);
  if (known !== undefined) checkArguments(resource, known.arguments, refuse);
  else if (type === 'terraform_remote_state') refuse('E_REMOTE_STATE', `${address} is not evaluated`);
  else if (type.startsWith('gantry_'))
    refuse('E_DATA', `${address}: there is no data source ${type}${hint(type, dataTypeNames)}`);
  else refuse('E_DATA', `${address} is of another provider`);
}

const lengthOf = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);

// Turns Terraform JSON files into manifest documents, or reports every problem. Independent of the meaning of documents.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import { checkResource } from './check-resource.ts';
import { bareName, type ConfigFile, type Piece } from './config/blocks.ts';
import { readModules, type ModuleFiles, type ModuleTree } from './config/module-tree.ts';
import { Evaluation, type Output } from './evaluation/evaluation.ts';
import type { DataAnswer, DataRequest, Instance } from './evaluation/instance.ts';
import type { VariableSetting } from './evaluation/variables.ts';
import { makeDocuments, type TerraformDocument } from './make-documents.ts';
import type { Problem, Report } from './problem.ts';
import { readProviders } from './provider-blocks.ts';
import { dataTypeOf } from './types/schema-facts.ts';
import { resourceTypeOf } from './types/resource-types.ts';

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
  else if (destroy === false) refuse(`removed: without a state, gantry cannot keep ${from}`);
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

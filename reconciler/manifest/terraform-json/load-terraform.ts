// From Terraform JSON files to manifest documents: all of them, or every reason why not. What a document means is not known here.
import { hint } from '../../../server/api/nearest.ts';
import type { Json } from '../../core/document.ts';
import { checkResource } from './check-resource.ts';
import { Evaluation, type Instance } from './evaluate-config.ts';
import { makeDocuments, type TerraformDocument } from './make-documents.ts';
import type { Problem, Report } from './problem.ts';
import { readProviders } from './provider-blocks.ts';
import { readConfig, type Config, type ConfigFile, type Piece } from './read-config.ts';
import { resourceTypeOf } from './resource-types.ts';

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
  const evaluation = new Evaluation({ config, given, typeOf: resourceTypeOf, report });
  const instances = evaluation.instances();
  const outputs = evaluation.outputs();
  for (const each of config.imports) checkImport(each, evaluation, instances, report);
  const providers = readProviders(config, evaluation, report);
  const documents = problems.length > 0 ? [] : makeDocuments(instances, { evaluation, providers, report });
  return {
    documents: problems.length > 0 ? [] : documents,
    problems: distinct(problems),
    notices: [...config.ignored, ...providers.notices],
    outputs,
  };
}

function checkGiven(name: string, config: Config, report: Report): void {
  if (config.variables.has(name)) return;
  const message = `there is no variable ${name}${hint(name, [...config.variables.keys()])}`;
  report({ code: 'E_VARIABLE', message, file: [...config.resources.values()][0]?.file ?? '', steps: [] });
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

// Evaluates a whole configuration: every resource of every module, outputs, checks; each once. It knows resource types only by the
// small tables that it gets.
import { filesFrom } from '../expression/functions/file-reader.ts';
import { toPlain } from '../expression/json-text.ts';
import type { Value } from '../expression/values.ts';
import type { Resource } from '../config/blocks.ts';
import type { ModuleTree } from '../config/module-tree.ts';
import type { Instance, Module, EvaluationState } from './instance.ts';
import { ModuleEvaluation } from './module-evaluation.ts';
import { ExpressionCache, References } from './references.ts';

export interface EvaluationInput extends Pick<EvaluationState, 'given' | 'typeOf' | 'dataTypeOf' | 'read' | 'report'> {
  readonly tree: ModuleTree;
  /** The folder of the root, to which paths are relative. */
  readonly folder: string;
}

export interface Output {
  /** Undefined when it is unknown before an apply. */
  readonly value: unknown;
  readonly isSensitive: boolean;
}

export class Evaluation {
  readonly root: ModuleEvaluation;
  readonly #warnings = new Set<string>();
  #instances: readonly Instance[] | undefined;
  readonly #needed = new Map<Module, Map<Resource, readonly Instance[]>>();
  readonly #byResource = new Map<string, Instance[]>();

  constructor({ tree, folder, given, typeOf, dataTypeOf, read, report }: EvaluationInput) {
    const parsed = new ExpressionCache();
    const shared: EvaluationState = {
      given,
      typeOf,
      dataTypeOf,
      read,
      report,
      files: filesFrom(folder),
      parsed,
      busy: [],
      warn: (text) => void this.#warnings.add(text),
    };
    this.root = new ModuleEvaluation({ tree, shared, references: new References(tree, parsed), address: '' });
  }

  /** Every resource whose type is known, in the order of the files, modules last. */
  instances(): readonly Instance[] {
    if (this.#instances !== undefined) return this.#instances;
    const all = modulesBelow(this.root).flatMap((module) => module.instances());
    this.#instances = all;
    for (const instance of all) {
      const known = this.#byResource.get(instance.resource.address);
      if (known === undefined) this.#byResource.set(instance.resource.address, [instance]);
      else known.push(instance);
    }
    return all;
  }

  /** The dependencies of an instance: within shared modules, only the same module instances. */
  neededBy(instance: Instance): readonly Instance[] {
    this.instances();
    const { module, resource } = instance;
    // The same for all instances of the resource in this module.
    const ofModule = this.#needed.get(module) ?? new Map<Resource, readonly Instance[]>();
    this.#needed.set(module, ofModule);
    let needed = ofModule.get(resource);
    if (needed === undefined) {
      needed = [...module.needsOf(resource)].flatMap((address) =>
        (this.#byResource.get(address) ?? []).filter((other) => other.module.isRelated(module)),
      );
      ofModule.set(resource, needed);
    }
    return needed;
  }

  /** Evaluates everything besides resources: outputs of the root, unused variables and locals, checks. */
  outputs(): ReadonlyMap<string, Output> {
    for (const module of modulesBelow(this.root)) module.checkAll();
    return new Map(
      [...this.root.outputs()].map(([name, { value, isSensitive }]) => [
        name,
        { value: plainOrUndefined(value), isSensitive },
      ]),
    );
  }

  /** Warnings of failed checks. Call it after outputs(). */
  warnings(): readonly string[] {
    return [...this.#warnings];
  }
}

const modulesBelow = (module: ModuleEvaluation): readonly ModuleEvaluation[] => [
  module,
  ...module.calls().flatMap(modulesBelow),
];

function plainOrUndefined(value: Value): unknown {
  try {
    return toPlain(value);
  } catch {
    return undefined;
  }
}

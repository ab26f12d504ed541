// Evaluates one instance of a module: its variables, locals, resources, data sources and calls are evaluated at their first use, each
// once; cycles are reported.
import type { Json } from '../../../core/documents/document.ts';
import { below, isTrue, listOf, type Piece, type Resource } from '../config/blocks.ts';
import type { ModuleTree } from '../config/module-tree.ts';
import { evaluate, type Scope } from '../expression/evaluate.ts';
import { fromJson } from '../expression/json-text.ts';
import { ExpressionError } from '../expression/syntax.ts';
import { composed, ConversionError, mapFrom, unknown, type Value } from '../expression/values.ts';
import { judge, judgeCheck, type Judging } from './conditions.ts';
import type { Context, Instance, Module, Repetition, EvaluationState } from './instance.ts';
import { InstanceMaker } from './instance-maker.ts';
import type { References } from './references.ts';
import { valueOfJson, type Leaf } from './json-value.ts';
import { Memo, orUnknown } from './memo.ts';
import { gathered, repetitionOf } from './repetition.ts';
import { readVariable, unknownArguments, validateVariable, type VariableSetting } from './variables.ts';

interface ModuleInput extends Pick<Module, 'tree' | 'shared' | 'references' | 'address'> {
  readonly parent?: Module;
  /** The module block that calls it, with its instance key. */
  readonly call?: Context;
}

type Resolved = { readonly value: Value; readonly used: number } | undefined;

export class ModuleEvaluation implements Module {
  readonly tree: ModuleTree;
  readonly address: string;
  readonly parent: Module | undefined;
  readonly references: References;
  readonly shared: EvaluationState;
  readonly #call: Context | undefined;
  readonly #memo: Memo;
  readonly #instances = new Map<string, readonly Instance[]>();
  readonly #gathered = new WeakMap<readonly Instance[], Value>();
  readonly #calls = new Map<string, readonly (readonly [key: string, module: ModuleEvaluation])[]>();

  constructor({ tree, shared, references, address, parent, call }: ModuleInput) {
    this.tree = tree;
    this.shared = shared;
    this.references = references;
    this.address = address;
    this.parent = parent;
    this.#call = call;
    this.#memo = new Memo(shared, address);
  }

  /** The managed resources whose types are known. */
  instances(): readonly Instance[] {
    return [...this.tree.config.resources.values()].flatMap((resource) =>
      this.shared.typeOf(resource.type) === undefined ? [] : this.instancesOf(resource),
    );
  }

  instancesOf(resource: Resource): readonly Instance[] {
    const known = this.#instances.get(resource.address);
    if (known !== undefined) return known;
    const make = (): readonly Instance[] => new InstanceMaker(this, resource).all();
    const made = this.#memo.once(resource.address, resource, make) ?? [];
    this.#instances.set(resource.address, made);
    return made;
  }

  needsOf(resource: Resource): ReadonlySet<string> {
    return this.references.needsOf(resource);
  }

  isRelated(other: Module): boolean {
    if (this === other) return true;
    const [own, others] = [chainOf(this), chainOf(other)];
    for (let at = 0; at < Math.min(own.length, others.length); at++) {
      if (own[at]?.tree !== others[at]?.tree) return true;
      if (own[at] !== others[at]) return false;
    }
    return true;
  }

  /** Instances of the modules that it calls. */
  calls(): readonly ModuleEvaluation[] {
    return [...this.tree.children.keys()].flatMap((name) => this.#callsOf(name).map(([, module]) => module));
  }

  outputs(): ReadonlyMap<string, { readonly value: Value; readonly isSensitive: boolean }> {
    return new Map(
      [...this.tree.config.outputs].map(([name, piece]) => {
        const isSensitive = isTrue(piece.body['sensitive']) || this.references.isTainted(piece.body['value'] ?? null);
        return [name, { value: orUnknown(this.#output(name)), isSensitive }];
      }),
    );
  }

  /** Evaluates unused values too, since Terraform reports their errors as well. */
  checkAll(): void {
    const { variables, locals, outputs, data, checks } = this.tree.config;
    for (const name of variables.keys()) this.#variable(name);
    for (const name of locals.keys()) this.#local(name);
    for (const resource of data.values())
      if (this.shared.dataTypeOf(resource.type) !== undefined) this.instancesOf(resource);
    for (const [name, piece] of outputs) {
      this.#output(name);
      const rules = piece.body['precondition'];
      const label = `${this.address}output.${name}`;
      judge({ label, kind: 'precondition', piece, rules }, this.#judging({ place: piece }), this.shared.report);
    }
    for (const check of checks) {
      for (const text of judgeCheck(check, this.#judging({ place: check }))) this.shared.warn(text);
    }
  }

  #judging(context: Context): Judging {
    return {
      evaluate: (json, place) => this.evaluate(json ?? null, { ...context, place }),
      isSecret: (json) => this.references.isTainted(json ?? null, context.block),
    };
  }

  /** Any JSON with templates. A failure is reported, and its value is unknown. */
  evaluate(json: Json, context: Context): Value {
    return valueOfJson(json, context, (leaf, at) => this.#leaf(leaf, at));
  }

  #leaf(leaf: Leaf, context: Context): Value {
    try {
      if (typeof leaf !== 'string') return fromJson(leaf);
      return leaf.includes('{') ? evaluate(this.shared.parsed.parse(leaf), this.#scope(context)) : composed(leaf);
    } catch (error) {
      const isSecret = this.references.isTainted(leaf, context.block);
      this.#memo.fail(error, context.place, { ...(typeof leaf === 'string' ? { expression: leaf } : {}), isSecret });
      return unknown;
    }
  }

  #scope(context: Context): Scope {
    return { files: this.shared.files, resolve: (names) => this.#resolve(names, context) };
  }

  #resolve(names: readonly string[], context: Context): Resolved {
    const [first = '', second = '', third = ''] = names;
    switch (first) {
      case 'var':
        return resolved(this.#variable(second), 2);
      case 'local':
        return resolved(this.#local(second), 2);
      case 'each':
        return second === 'key' || second === 'value' ? resolved(context.each?.[second], 2) : undefined;
      case 'count':
        return second === 'index' ? resolved(context.count, 2) : undefined;
      case 'self':
        return resolved(context.self, 1);
      case 'path':
        return resolved(this.#path(second), 2);
      case 'terraform':
        return second === 'workspace' ? resolved('default', 2) : undefined;
      case 'data':
        return this.#resource(this.tree.config.data.get(`${second}.${third}`), 3);
      case 'module':
        return this.#module(second, names.length > 2 ? third : undefined);
      default:
        return this.#resource(this.tree.config.resources.get(`${first}.${second}`), 2);
    }
  }

  /** Resolves paths as if Terraform ran in the folder of the configuration. */
  #path(name: string): string | undefined {
    if (name === 'cwd') return this.shared.files.cwd;
    if (name === 'module') return this.tree.path;
    return name === 'root' ? '.' : undefined;
  }

  #variable(name: string): Value | undefined {
    const piece = this.tree.config.variables.get(name);
    if (piece === undefined) return undefined;
    return this.#memo.value(`var.${name}`, piece, () => this.#readVariable(name, piece));
  }

  #readVariable(name: string, piece: Piece): Value {
    try {
      const isSecret = this.references.isTainted(`\${var.${name}}`);
      const value = readVariable(piece, this.#setting(name), isSecret);
      if (value === undefined) {
        this.#memo.refuse('E_NO_VALUE', `the variable ${this.address}${name} has no value`, piece);
        return unknown;
      }
      const isHidden = (message: Json): boolean => this.references.isTainted(message);
      validateVariable(name, piece, value, { outer: this.#scope({ place: piece }), isHidden });
      return value;
    } catch (error) {
      if (!(error instanceof ConversionError || error instanceof ExpressionError)) throw error;
      this.#memo.refuse('E_VARIABLE', `the variable ${this.address}${name}: ${error.message}`, piece);
      return unknown;
    }
  }

  #setting(name: string): VariableSetting | undefined {
    const { call } = this.tree;
    if (call === undefined || this.parent === undefined) return this.shared.given.get(name);
    const written = call.body[name];
    if (written === undefined) return undefined;
    return { value: this.parent.evaluate(written, { ...this.#call, place: below(call, name) }) };
  }

  #local(name: string): Value | undefined {
    const local = this.tree.config.locals.get(name);
    if (local === undefined) return undefined;
    return this.#memo.value(`local.${name}`, local, () => this.evaluate(local.value, { place: local }));
  }

  #output(name: string): Value | undefined {
    const piece = this.tree.config.outputs.get(name);
    if (piece === undefined) return undefined;
    const make = (): Value => this.evaluate(piece.body['value'] ?? null, { place: below(piece, 'value') });
    return this.#memo.value(`output.${name}`, piece, make);
  }

  #resource(resource: Resource | undefined, used: number): Resolved {
    if (resource === undefined) return undefined;
    const { typeOf, dataTypeOf } = this.shared;
    const type = resource.mode === 'data' ? dataTypeOf(resource.type) : typeOf(resource.type);
    // The declaration was reported already.
    if (type === undefined) return resolved(unknown, used);
    return resolved(this.#gatheredOf(resource), used);
  }

  /** Computed once for all references. */
  #gatheredOf(resource: Resource): Value {
    const instances = this.instancesOf(resource);
    const known = this.#gathered.get(instances);
    if (known !== undefined) return known;
    const local = this.address.length + resource.address.length - this.tree.prefix.length;
    const value = gathered(
      resource,
      instances.map((one) => [one.address.slice(local), mapFrom(Object.entries(one.values))] as const),
    );
    this.#gathered.set(instances, value);
    return value;
  }

  /** One output, or all outputs of all instances. */
  #module(name: string, output: string | undefined): Resolved {
    const call = this.tree.config.modules.get(name);
    if (call === undefined) return undefined;
    if (!this.tree.children.has(name)) return resolved(unknown, output === undefined ? 2 : 3);
    const instances = this.#callsOf(name);
    const isOne = call.body['count'] === undefined && call.body['for_each'] === undefined;
    const [only] = instances;
    if (isOne && output !== undefined)
      return only === undefined ? resolved(unknown, 3) : resolved(only[1].#output(output), 3);
    const values = instances.map(([key, module]) => {
      const outputs = [...module.tree.config.outputs.keys()].map(
        (each) => [each, orUnknown(module.#output(each))] as const,
      );
      return [key, mapFrom(outputs)] as const;
    });
    return resolved(gathered(call, values), 2);
  }

  #callsOf(name: string): readonly (readonly [string, ModuleEvaluation])[] {
    const known = this.#calls.get(name);
    const tree = this.tree.children.get(name);
    const call = tree?.call;
    const references = this.references.child(name);
    if (known !== undefined || tree === undefined || call === undefined || references === undefined) return known ?? [];
    for (const { name, text } of unknownArguments(call, tree.config.variables))
      this.#memo.refuse('E_ARGUMENT', text, below(call, name));
    const repeated = this.#memo.once(`module.${name}`, call, () => this.repetition(call)) ?? [];
    const { shared } = this;
    const made = repeated.map(({ key, context }) => {
      const address = `${this.address}module.${name}${key}.`;
      return [key, new ModuleEvaluation({ tree, shared, references, address, parent: this, call: context })] as const;
    });
    this.#calls.set(name, made);
    return made;
  }

  repetition(piece: Piece): readonly Repetition[] | undefined {
    const valueOf = (name: 'count' | 'for_each'): Value =>
      this.evaluate(piece.body[name] ?? null, { place: below(piece, name) });
    return repetitionOf(piece, valueOf, this.shared.report);
  }

  /** `lifecycle { precondition, postcondition }`; `self` is the instance, once it is made. */
  judge(kind: 'precondition' | 'postcondition', resource: Resource, context: Context): void {
    for (const lifecycle of listOf(resource.body['lifecycle'])) {
      const piece = below(resource, 'lifecycle');
      const rules = lifecycle[kind];
      judge({ label: resource.address, kind, piece, rules }, this.#judging(context), this.shared.report);
    }
  }
}

const resolved = (value: Value | undefined, used: number): Resolved =>
  value === undefined ? undefined : { value, used };

/** The module after those that call it. */
const chainOf = (module: Module): readonly Module[] =>
  module.parent === undefined ? [module] : [...chainOf(module.parent), module];

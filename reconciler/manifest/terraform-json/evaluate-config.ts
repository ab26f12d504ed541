// Gives every resource of a configuration its values: variables, locals and resources are evaluated when they are first asked
// for, each once. Knows resource types only by the small table that it is given.
import type { Json, JsonObject } from '../../core/document.ts';
import { shaped, ShapeError, withComputed, type Members } from './argument-shapes.ts';
import { filesFrom, type FileReader } from './expression/functions/file-reader.ts';
import { evaluate, type Scope } from './expression/evaluate.ts';
import { fromJson, toPlain } from './expression/json-text.ts';
import { parseTemplate } from './expression/parse.ts';
import { ExpressionError } from './expression/syntax.ts';
import {
  ConversionError,
  isMap,
  isSet,
  keysOf,
  mapFrom,
  toBool,
  toNumber,
  toText,
  typeName,
  unknown,
  type Value,
} from './expression/values.ts';
import type { Problem, Report } from './problem.ts';
import type { Config, Piece, Resource } from './read-config.ts';
import { References } from './references-in-config.ts';
import { readType } from './type-constraint.ts';
import type { Code } from './unsupported.ts';

/** What the evaluation must know of a resource type: what can be referred to beyond its arguments. */
export interface ReferableType {
  readonly arguments: ReadonlySet<string>;
  /** What they are made into; of those that are not here, whatever is written. */
  readonly shapes?: Members;
  /** Arguments that have a value, known to the provider, also where none is written. */
  readonly filled?: ReadonlySet<string>;
  /** From the arguments, or unknown before an apply. */
  readonly computed: Readonly<Record<string, (values: Readonly<Record<string, Value>>, resourceName: string) => Value>>;
}

export interface Instance {
  readonly resource: Resource;
  /** `gantry_container.web[0]`. */
  readonly address: string;
  /** What references see: arguments, and what an apply fills in. */
  readonly values: Readonly<Record<string, Value>>;
  /** What is written. */
  readonly args: Readonly<Record<string, Value>>;
  /** Arguments with something in them that came out of a sensitive variable. */
  readonly sensitive: ReadonlySet<string>;
}

/** Arguments of any resource that are about Terraform, not about the object. */
export const metaArguments: ReadonlySet<string> = new Set([
  '//',
  'count',
  'for_each',
  'depends_on',
  'provider',
  'lifecycle',
  'provisioner',
  'connection',
]);

interface Context {
  readonly place: Pick<Piece, 'file' | 'folder' | 'steps' | 'construct'>;
  readonly each?: { readonly key: Value; readonly value: Value };
  readonly count?: number;
}

export interface EvaluationInput {
  readonly config: Config;
  /** By name, as given from outside: texts of the command line, or values of files. */
  readonly given: ReadonlyMap<string, Json>;
  readonly typeOf: (type: string) => ReferableType | undefined;
  readonly report: Report;
}

export class Evaluation {
  readonly #input: EvaluationInput;
  readonly #values = new Map<string, Value>();
  readonly #instances = new Map<string, readonly Instance[]>();
  readonly #busy: string[] = [];
  readonly #references: References;
  readonly #files: FileReader;

  constructor(input: EvaluationInput) {
    this.#input = input;
    this.#references = new References(input.config);
    this.#files = filesFrom(input.config.folder);
  }

  /** Of every resource whose type is known, in the order of the files. */
  instances(): readonly Instance[] {
    const { config, typeOf } = this.#input;
    return [...config.resources.values()].flatMap((resource) =>
      typeOf(resource.type) === undefined ? [] : this.instancesOf(resource),
    );
  }

  instancesOf(resource: Resource): readonly Instance[] {
    const known = this.#instances.get(resource.address);
    if (known !== undefined) return known;
    const made = this.#once(resource.address, resource, () => this.#makeInstances(resource)) ?? [];
    this.#instances.set(resource.address, made);
    return made;
  }

  /** Addresses of the resources that one refers to, also through locals. */
  needsOf(resource: Resource): ReadonlySet<string> {
    return this.#references.needsOf(resource);
  }

  /** Of a resource by its address: `gantry_container.web`. */
  instancesAt(address: string): readonly Instance[] {
    const resource = this.#input.config.resources.get(address);
    return resource === undefined || this.#input.typeOf(resource.type) === undefined ? [] : this.instancesOf(resource);
  }

  /** Outputs as plain data; undefined where they are not known before an apply. */
  outputs(): ReadonlyMap<string, { readonly value: unknown; readonly isSensitive: boolean }> {
    const outputs = new Map<string, { value: unknown; isSensitive: boolean }>();
    // Terraform also refuses what is wrong with those that nothing asked for.
    for (const name of this.#input.config.variables.keys()) this.#variable(name);
    for (const name of this.#input.config.locals.keys()) this.#local(name);
    for (const [name, piece] of this.#input.config.outputs) {
      const value = this.evaluate(piece.body['value'] ?? null, { place: below(piece, 'value') });
      const isSensitive = piece.body['sensitive'] === true || this.#references.isTainted(piece.body['value'] ?? null);
      outputs.set(name, { value: plainOrUndefined(value), isSensitive });
    }
    return outputs;
  }

  /** Any JSON with templates in it. What fails is reported and unknown. */
  evaluate(json: Json, context: Context): Value {
    if (typeof json === 'string') return this.#text(json, context);
    if (Array.isArray(json)) return json.map((item: Json, at) => this.evaluate(item, inside(context, String(at))));
    if (typeof json !== 'object' || json === null) return this.#literal(json, context);
    const entries: [string, Value][] = [];
    for (const [key, item] of Object.entries(json as JsonObject)) {
      const name = key.includes('{') ? this.#text(key, context) : key;
      const value = this.evaluate(item, inside(context, key));
      if (name === unknown) return unknown;
      entries.push([toText(name) as string, value]);
    }
    return mapFrom(entries);
  }

  #literal(json: number | boolean | null, context: Context): Value {
    try {
      return fromJson(json);
    } catch (error) {
      this.#fail(error, context.place, undefined);
      return unknown;
    }
  }

  #text(text: string, context: Context): Value {
    if (!text.includes('{')) return text;
    try {
      return evaluate(this.#references.parse(text), this.#scope(context));
    } catch (error) {
      this.#fail(error, context.place, text);
      return unknown;
    }
  }

  #scope(context: Context): Scope {
    return {
      files: this.#files,
      resolve: (names) => {
        const [first = '', second = '', third] = names;
        switch (first) {
          case 'var':
            return found(this.#variable(second), 2);
          case 'local':
            return found(this.#local(second), 2);
          case 'each':
            return context.each === undefined || (second !== 'key' && second !== 'value')
              ? undefined
              : found(context.each[second], 2);
          case 'count':
            return context.count === undefined || second !== 'index' ? undefined : found(context.count, 2);
          case 'path':
            return found(this.#path(second), 2);
          case 'terraform':
            return second === 'workspace' ? found('default', 2) : undefined;
          // These are refused where they are declared; a second complaint would help nobody.
          case 'data':
            return third === undefined ? undefined : found(unknown, names.length);
          case 'module':
            return found(unknown, names.length);
          default:
            return this.#resource(first, second);
        }
      },
    };
  }

  /** As for Terraform that runs in the folder of the configuration. */
  #path(name: string): string | undefined {
    if (name === 'cwd') return this.#files.cwd;
    return name === 'module' || name === 'root' ? '.' : undefined;
  }

  #variable(name: string): Value | undefined {
    const piece = this.#input.config.variables.get(name);
    if (piece === undefined) return undefined;
    return this.#memo(`var.${name}`, piece, () => this.#readVariable(name, piece));
  }

  #readVariable(name: string, piece: Piece): Value {
    const { body } = piece;
    const given = this.#input.given.get(name);
    const fallback = body['default'];
    try {
      const convert = readType(typeof body['type'] === 'string' ? body['type'] : 'any');
      const isText = typeof given === 'string' && !takesTexts(body['type']);
      const raw = given === undefined ? fallback : isText ? jsonOf(given) : given;
      if (raw === undefined) {
        this.#tell('E_NO_VALUE', `the variable ${name} has no value`, piece);
        return unknown;
      }
      const value = convert(fromJson(raw));
      if (value === null && body['nullable'] === false) throw new ConversionError('null is not allowed');
      this.#validate(name, piece, value);
      return value;
    } catch (error) {
      if (!(error instanceof ConversionError || error instanceof ExpressionError)) throw error;
      this.#tell('E_VARIABLE', `the variable ${name}: ${error.message}`, piece);
      return unknown;
    }
  }

  #validate(name: string, piece: Piece, value: Value): void {
    const scope: Scope = {
      resolve: ([first, second]) =>
        first === 'var' && second === name
          ? { value, used: 2 }
          : this.#scope({ place: piece }).resolve([first ?? '', second ?? ''], nowhere),
    };
    for (const rule of listOf(piece.body['validation'])) {
      const condition = typeof rule['condition'] === 'string' ? rule['condition'] : 'true';
      if (toBool(evaluate(parseTemplate(condition), scope)) === false) {
        throw new ConversionError(
          typeof rule['error_message'] === 'string' ? rule['error_message'] : 'it breaks its rule',
        );
      }
    }
  }

  #local(name: string): Value | undefined {
    const local = this.#input.config.locals.get(name);
    if (local === undefined) return undefined;
    const place = { file: local.file, folder: this.#input.config.folder, steps: local.steps };
    return this.#memo(`local.${name}`, place, () => this.evaluate(local.value, { place }));
  }

  #resource(type: string, name: string): { readonly value: Value; readonly used: number } | undefined {
    const resource = this.#input.config.resources.get(`${type}.${name}`);
    if (resource === undefined) return undefined;
    if (this.#input.typeOf(type) === undefined) return found(unknown, 2);
    const instances = this.instancesOf(resource);
    const values = instances.map((instance) => mapFrom(Object.entries(instance.values)));
    if (resource.body['count'] !== undefined) return found(values, 2);
    if (resource.body['for_each'] !== undefined) {
      return found(mapFrom(instances.map(({ address }, at) => [keyIn(address), values[at] ?? null] as const)), 2);
    }
    return found(values[0] ?? unknown, 2);
  }

  #makeInstances(resource: Resource): readonly Instance[] {
    const { body } = resource;
    const place = resource;
    if (body['count'] !== undefined && body['for_each'] !== undefined) {
      this.#tell('E_COUNT', 'count and for_each exclude each other', place);
      return [];
    }
    if (body['count'] !== undefined) {
      const count = numberIn(this.evaluate(body['count'], { place: below(place, 'count') }));
      if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= 10_000) {
        return Array.from({ length: count }, (_, at) => this.#instance(resource, `[${at}]`, { place, count: at }));
      }
      this.#tellCount('count', count, 'a whole number', resource);
      return [];
    }
    if (body['for_each'] === undefined) return [this.#instance(resource, '', { place })];
    const each = this.evaluate(body['for_each'], { place: below(place, 'for_each') });
    const entries = isSet(each)
      ? each.items.map((item) => [item, item] as const)
      : isMap(each)
        ? keysOf(each).map((key) => [key, each[key] ?? null] as const)
        : undefined;
    if (entries === undefined || entries.some(([key]) => typeof key !== 'string')) {
      this.#tellCount('for_each', each, 'a map or a set of strings', resource);
      return [];
    }
    return entries.map(([key, value]) =>
      this.#instance(resource, `[${JSON.stringify(key)}]`, { place, each: { key, value } }),
    );
  }

  #tellCount(name: 'count' | 'for_each', value: Value, wanted: string, resource: Resource): void {
    const is = value === unknown ? 'is not known before an apply' : `is ${typeName(value)}`;
    this.#tell('E_COUNT', `${name} must be ${wanted}, and ${is}`, below(resource, name));
  }

  #instance(resource: Resource, key: string, context: Context): Instance {
    const type = this.#input.typeOf(resource.type);
    const sensitive = new Set<string>();
    const written = Object.entries(resource.body).filter(([name]) => !metaArguments.has(name));
    const evaluated = written.map(([name, json]) => [name, this.evaluate(json, inside(context, name))] as const);
    const shapes = type?.shapes ?? {};
    const args = mapFrom(
      evaluated.map(([name, value]) => [name, this.#shaped(resource, name, value, shapes)] as const),
    );
    const own = mapFrom(
      Object.entries(args).map(([name, value]) => {
        const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
        return [name, shape === undefined ? value : withComputed(value, shape)] as const;
      }),
    );
    for (const [name, json] of written) if (this.#references.isTainted(json)) sensitive.add(name);
    const left = [...(type?.arguments ?? [])].map(
      (name) => [name, type?.filled?.has(name) === true ? unknown : null] as const,
    );
    const made = Object.entries(type?.computed ?? {}).map(
      ([name, compute]) => [name, compute(own, `${resource.name}${key}`)] as const,
    );
    const values = mapFrom([...left, ...made, ...Object.entries(own)]);
    this.#checkPreconditions(resource, context);
    return { resource, address: `${resource.address}${key}`, values, args, sensitive };
  }

  #shaped(resource: Resource, name: string, value: Value, shapes: Members): Value {
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    if (shape === undefined) return value;
    try {
      return shaped(value, shape);
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      const place = error.path.reduce(below, below(resource, name));
      this.#tell('E_ARGUMENT', `${resource.address}: ${[name, ...error.path].join('.')}: ${error.message}`, place);
      return unknown;
    }
  }

  #checkPreconditions(resource: Resource, context: Context): void {
    for (const lifecycle of listOf(resource.body['lifecycle'])) {
      for (const rule of listOf(lifecycle['precondition'])) {
        const place = below(below(resource, 'lifecycle'), 'precondition');
        const holds = this.evaluate(rule['condition'] ?? true, { ...context, place });
        if (holds === false || holds === 'false') {
          const text = this.evaluate(rule['error_message'] ?? '', { ...context, place });
          this.#tell(
            'E_PRECONDITION',
            `${resource.address}: ${typeof text === 'string' ? text : 'a precondition does not hold'}`,
            place,
          );
        }
      }
    }
  }

  #memo(key: string, place: Pick<Piece, 'file' | 'steps'>, make: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#once(key, place, make) ?? unknown;
    this.#values.set(key, value);
    return value;
  }

  #once<T>(key: string, place: Pick<Piece, 'file' | 'steps'>, make: () => T): T | undefined {
    const at = this.#busy.indexOf(key);
    if (at >= 0) {
      const circle = [...this.#busy.slice(at), key].join(' -> ');
      this.#input.report({
        code: 'E_CYCLE',
        message: `a circle of references: ${circle}`,
        file: place.file,
        steps: place.steps,
      });
      return undefined;
    }
    this.#busy.push(key);
    try {
      return make();
    } finally {
      this.#busy.pop();
    }
  }

  #fail(error: unknown, place: Context['place'], expression: string | undefined): void {
    if (error instanceof ConversionError) return this.#tell('E_BIG_NUMBER', error.message, place);
    if (!(error instanceof ExpressionError)) throw error;
    this.#tell(error.code, error.message, place, {
      ...(expression === undefined ? {} : { expression }),
      offset: error.span.start,
    });
  }

  #tell(
    code: Code,
    message: string,
    place: Pick<Piece, 'file' | 'steps' | 'construct'>,
    more: Partial<Problem> = {},
  ): void {
    const { file, steps, construct } = place;
    this.#input.report({ code, message, file, steps, ...(construct === undefined ? {} : { construct }), ...more });
  }
}

const nowhere = { start: 0, end: 0 };

/** Texts with a number in them count as one. */
function numberIn(value: Value): Value {
  try {
    return toNumber(value);
  } catch {
    return value;
  }
}

const found = (value: Value | undefined, used: number): { readonly value: Value; readonly used: number } | undefined =>
  value === undefined ? undefined : { value, used };

function below<T extends Pick<Piece, 'steps'>>(piece: T, step: string): T {
  return { ...piece, steps: [...piece.steps, step] };
}
const inside = (context: Context, step: string): Context => ({ ...context, place: below(context.place, step) });

/** `web["a"]` -> `a`. */
const keyIn = (address: string): string => JSON.parse(address.slice(address.indexOf('[') + 1, -1)) as string;

/** Blocks are written as one object or as a list of them. */
export const listOf = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : [value ?? null]).filter(
    (item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item),
  );

/** Texts from outside are texts for these; for others they are JSON. */
const takesTexts = (type: Json | undefined): boolean =>
  type === undefined || (typeof type === 'string' && ['string', '${string}', 'any', '${any}'].includes(type.trim()));

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function plainOrUndefined(value: Value): unknown {
  try {
    return toPlain(value);
  } catch {
    return undefined;
  }
}

// Makes the instances of one resource or data source: converted arguments, values for references, conditions.
import type { Json } from '../../../core/documents/document.ts';
import { below, metaArguments, type Resource } from '../config/blocks.ts';
import { toPlain } from '../expression/json-text.ts';
import { isWhole, mapFrom, unknown, type Value, type ValueMap } from '../expression/values.ts';
import { typedAnswer } from './data-value.ts';
import { shaped, ShapeError, withComputed, type Members } from './argument-shapes.ts';
import type { Context, Instance, Module, ReferableType } from './instance.ts';
import { projectFor } from './provider-of.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export class InstanceMaker {
  readonly #module: Module;
  readonly #resource: Resource;
  readonly #type: ReferableType | undefined;

  constructor(module: Module, resource: Resource) {
    this.#module = module;
    this.#resource = resource;
    const { typeOf, dataTypeOf } = module.shared;
    this.#type = resource.mode === 'data' ? dataTypeOf(resource.type) : typeOf(resource.type);
  }

  all(): readonly Instance[] {
    const repeated = this.#module.repetition(this.#resource) ?? [];
    return repeated.map(({ key, context }) => this.#instance(key, context));
  }

  #instance(key: string, context: Context): Instance {
    const resource = this.#resource;
    const module = this.#module;
    const { type: typeName, name: resourceName, mode } = resource;
    const name = `${module.address}${resourceName}${key}`;
    const address = `${module.address}${mode === 'data' ? 'data.' : ''}${typeName}.${resourceName}${key}`;
    module.judge('precondition', resource, context);
    const args = this.#arguments(context);
    const values = mode === 'data' ? this.#read(args) : this.#valuesOf(args, name);
    if (isKnown(values)) module.judge('postcondition', resource, { ...context, self: values });
    const { body } = resource;
    const sensitive = Object.keys(args).filter((each) => module.references.isTainted(body[each] ?? null, body));
    return {
      resource,
      module,
      address,
      name,
      args,
      values: values === unknown ? this.#unread(args) : values,
      sensitive: new Set(sensitive),
    };
  }

  #arguments(context: Context): ValueMap {
    const written = Object.entries(this.#resource.body).filter(([name]) => !metaArguments.has(name));
    const shapes = this.#type?.shapes ?? {};
    return mapFrom(
      written.map(([name, json]) => {
        const place = below(this.#resource, name);
        return [name, this.#shaped(name, this.#module.evaluate(json, { ...context, place }), shapes)] as const;
      }),
    );
  }

  #shaped(name: string, value: Value, shapes: Members): Value {
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    if (shape === undefined) return value;
    try {
      return shaped(value, shape);
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      const { file, steps, construct } = error.path.reduce(below, below(this.#resource, name));
      const { body } = this.#resource;
      const isSecret = error.hasValue && this.#module.references.isTainted(body[name] ?? null, body);
      const why = isSecret ? 'the value, which is sensitive, is of another type' : error.message;
      const message = `${this.#resource.address}: ${[name, ...error.path].join('.')}: ${why}`;
      const from = construct === undefined ? {} : { construct };
      this.#module.shared.report({ code: 'E_ARGUMENT', message, file, steps, ...from });
      return unknown;
    }
  }

  /** The value of a managed resource: written arguments, and known values of the others. */
  #valuesOf(args: ValueMap, name: string): ValueMap {
    const type = this.#type;
    const shapes = type?.shapes ?? {};
    const own = mapFrom(
      Object.entries(args).map(([each, value]) => {
        const shape = Object.hasOwn(shapes, each) ? shapes[each] : undefined;
        return [each, shape === undefined ? value : withComputed(value, shape)] as const;
      }),
    );
    const left = [...(type?.arguments ?? [])].map(
      (each) => [each, type?.filled?.has(each) === true ? unknown : null] as const,
    );
    const made = Object.entries(type?.computed ?? {}).map(([each, compute]) => [each, compute(own, name)] as const);
    return mapFrom([...left, ...made, ...Object.entries(own)]);
  }

  /** The value of a data source: the answer of the server, or unknown without an answer. */
  #read(args: ValueMap): ValueMap | typeof unknown {
    const { shared } = this.#module;
    const resource = this.#resource;
    const written = [...(this.#type?.arguments ?? [])].map((name) => [name, args[name] ?? null] as const);
    if (!written.every(([, value]) => isWhole(value))) return unknown;
    const project = projectFor(this.#module, resource);
    const answer = shared.read({
      type: resource.type,
      args: Object.fromEntries(written.map(([name, value]) => [name, toPlain(value) as Json])),
      ...withoutUndefined({ project }),
    });
    if (answer === undefined) return unknown;
    if ('value' in answer) return mapFrom([...written, ...Object.entries(typedAnswer(answer.value as ValueMap))]);
    // The apply may create its dependencies; its value is then known after the apply.
    if (answer.isMissing && resource.body['depends_on'] !== undefined) return unknown;
    const message = `${resource.address}: ${answer.error}`;
    const { file, steps, construct, check } = resource;
    if (check === undefined)
      shared.report({ code: 'E_DATA', message, file, steps, ...withoutUndefined({ construct }) });
    else shared.warn(`check ${check}: ${message}`);
    return unknown;
  }

  #unread(args: ValueMap): ValueMap {
    const names = [...(this.#type?.arguments ?? []), ...Object.keys(this.#type?.computed ?? {})];
    return mapFrom(names.map((name) => [name, args[name] ?? unknown] as const));
  }
}

const isKnown = (values: ValueMap | typeof unknown): values is ValueMap => values !== unknown;

// Who refers to whom in a configuration, read off its expressions without evaluating them: what a sensitive variable taints, and which
// resources a resource needs.
import type { Json, JsonObject } from '../../core/document.ts';
import { parseTemplate } from './expression/parse.ts';
import { referencesOf } from './expression/references.ts';
import { ExpressionError, type Expression } from './expression/syntax.ts';
import type { Config, Resource } from './read-config.ts';

export class References {
  readonly #config: Config;
  readonly #tainted = new Map<string, boolean>();
  readonly #expressions = new Map<string, Expression>();
  readonly #needs = new Map<string, Set<string>>();

  constructor(config: Config) {
    this.#config = config;
  }

  /** True when a sensitive variable is anywhere behind it. */
  isTainted(json: Json): boolean {
    if (typeof json === 'string') return json.includes('${') && this.#isTextTainted(json);
    if (Array.isArray(json)) return json.some((item: Json) => this.isTainted(item));
    return (
      typeof json === 'object' &&
      json !== null &&
      Object.values(json as JsonObject).some((item) => this.isTainted(item))
    );
  }

  #isTextTainted(text: string): boolean {
    if (/(?<!non)sensitive\(/.test(text)) return true;
    return this.#referencesIn(text).some(([first = '', second = '', third]) =>
      this.#isReferenceTainted(first, second, third),
    );
  }

  /** Each text once. Throws ExpressionError. */
  parse(text: string): Expression {
    let parsed = this.#expressions.get(text);
    if (parsed === undefined) this.#expressions.set(text, (parsed = parseTemplate(text)));
    return parsed;
  }

  #referencesIn(text: string): readonly (readonly string[])[] {
    try {
      return referencesOf(this.parse(text));
    } catch (error) {
      // Told where it is evaluated.
      if (error instanceof ExpressionError) return [];
      throw error;
    }
  }

  /** Addresses of the resources that one refers to, also through locals. */
  needsOf(resource: Resource): ReadonlySet<string> {
    let needs = this.#needs.get(resource.address);
    if (needs === undefined) {
      needs = new Set();
      this.#collectNeeds(resource.body, needs, new Set());
      this.#needs.set(resource.address, needs);
    }
    return needs;
  }

  #collectNeeds(json: Json, needs: Set<string>, seen: Set<string>): void {
    if (typeof json === 'string' && json.includes('${')) {
      for (const [first = '', second = ''] of this.#referencesIn(json)) this.#addNeed(first, second, needs, seen);
    } else if (typeof json === 'object' && json !== null) {
      for (const item of Object.values(json)) this.#collectNeeds(item, needs, seen);
    }
  }

  #addNeed(first: string, second: string, needs: Set<string>, seen: Set<string>): void {
    const name = `${first}.${second}`;
    const { locals, resources } = this.#config;
    if (resources.has(name)) needs.add(name);
    if (first !== 'local' || seen.has(second)) return;
    seen.add(second);
    this.#collectNeeds(locals.get(second)?.value ?? null, needs, seen);
  }

  /** Of one argument of a resource where the reference names it; of the whole resource otherwise. */
  #isReferenceTainted(first: string, second: string, third: string | undefined): boolean {
    const body = this.#config.resources.get(`${first}.${second}`)?.body;
    const isOne = body !== undefined && third !== undefined;
    return isOne ? this.isTainted(body[third] ?? null) : this.#isNameTainted(`${first}.${second}`);
  }

  #isNameTainted(name: string): boolean {
    const known = this.#tainted.get(name);
    if (known !== undefined) return known;
    // Of a circle, which is reported elsewhere.
    this.#tainted.set(name, false);
    const [first = '', second = ''] = name.split('.');
    const { variables, locals, resources } = this.#config;
    const result =
      first === 'var'
        ? variables.get(second)?.body['sensitive'] === true
        : this.isTainted(first === 'local' ? (locals.get(second)?.value ?? null) : (resources.get(name)?.body ?? null));
    this.#tainted.set(name, result);
    return result;
  }
}

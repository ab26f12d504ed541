// The references of a configuration, from its expressions without evaluation: the values that a sensitive variable taints, and the
// dependencies of resources; also through locals, variables and outputs of modules.
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isTrue, type Resource } from '../config/blocks.ts';
import type { ModuleTree } from '../config/module-tree.ts';
import { parseTemplate } from '../expression/parse.ts';
import { referencesOf } from '../expression/references.ts';
import { ExpressionError, type Expression } from '../expression/syntax.ts';

/** Each text is parsed once for all modules. */
export class ExpressionCache {
  readonly #expressions = new Map<string, Expression>();

  /** Throws ExpressionError. */
  parse(text: string): Expression {
    let parsed = this.#expressions.get(text);
    if (parsed === undefined) this.#expressions.set(text, (parsed = parseTemplate(text)));
    return parsed;
  }

  referencesIn(text: string): readonly (readonly string[])[] {
    try {
      return referencesOf(this.parse(text));
    } catch (error) {
      // The evaluation reports it.
      if (error instanceof ExpressionError) return [];
      throw error;
    }
  }
}

const hasTemplate = (text: string): boolean => text.includes('${') || text.includes('%{');

interface Needs {
  readonly found: Set<string>;
  readonly seen: Set<string>;
}

/** The references of one module, with access to its parent and to the modules that it calls. */
export class References {
  readonly #tree: ModuleTree;
  readonly #parent: References | undefined;
  readonly #parsed: ExpressionCache;
  readonly #children = new Map<string, References>();
  readonly #tainted = new Map<string, boolean>();
  readonly #needs = new Map<string, Set<string>>();

  constructor(tree: ModuleTree, parsed: ExpressionCache, parent?: References) {
    this.#tree = tree;
    this.#parsed = parsed;
    this.#parent = parent;
  }

  child(name: string): References | undefined {
    const known = this.#children.get(name);
    const tree = this.#tree.children.get(name);
    if (known !== undefined || tree === undefined) return known;
    const made = new References(tree, this.#parsed, this);
    this.#children.set(name, made);
    return made;
  }

  /** True when it depends on a sensitive variable, directly or not. `block`: the one that it is in, whose `for_each` gives `each.value`. */
  isTainted(json: Json, block: JsonObject = {}): boolean {
    if (typeof json === 'string') return hasTemplate(json) && this.#isTextTainted(json, block);
    if (Array.isArray(json)) return json.some((item: Json) => this.isTainted(item, block));
    return (
      typeof json === 'object' &&
      json !== null &&
      Object.values(json as JsonObject).some((item) => this.isTainted(item, block))
    );
  }

  #isTextTainted(text: string, block: JsonObject): boolean {
    if (/(?<!non)sensitive\s*\(/.test(text)) return true;
    return this.#parsed
      .referencesIn(text)
      .some(([first = '', second = '', third]) =>
        first === 'each'
          ? second === 'value' && this.isTainted(block['for_each'] ?? null)
          : this.#isReferenceTainted(first, second, third),
      );
  }

  /** Looks at one argument of a resource where the reference names it, else at the whole resource. */
  #isReferenceTainted(first: string, second: string, third: string | undefined): boolean {
    if (first === 'module') return this.#isModuleTainted(second, third);
    const body = this.#tree.config.resources.get(`${first}.${second}`)?.body;
    if (body !== undefined && third !== undefined)
      return this.#memo(`${first}.${second}.${third}`, () => this.isTainted(body[third] ?? null, body));
    return this.#memo(first === 'data' ? `data.${second}.${third ?? ''}` : `${first}.${second}`);
  }

  #isModuleTainted(name: string, output: string | undefined): boolean {
    const child = this.child(name);
    const outputs = this.#tree.children.get(name)?.config.outputs;
    if (child === undefined || outputs === undefined) return false;
    const names = output !== undefined && outputs.has(output) ? [output] : [...outputs.keys()];
    return names.some((each) => child.#memo(`output.${each}`));
  }

  #memo(name: string, compute = (): boolean => this.#isNameTainted(name)): boolean {
    const known = this.#tainted.get(name);
    if (known !== undefined) return known;
    // A cycle, which the evaluation reports.
    this.#tainted.set(name, false);
    const result = compute();
    this.#tainted.set(name, result);
    return result;
  }

  #isNameTainted(name: string): boolean {
    const [first = '', second = '', third = ''] = name.split('.');
    const { variables, locals, resources, data, outputs } = this.#tree.config;
    if (first === 'var') {
      const call = this.#tree.call?.body;
      const isPassed = this.#parent?.isTainted(call?.[second] ?? null, call) === true;
      return isPassed || isTrue(variables.get(second)?.body['sensitive']);
    }
    if (first === 'local') return this.isTainted(locals.get(second)?.value ?? null);
    if (first === 'data') return this.#isBlockTainted(data.get(`${second}.${third}`)?.body);
    if (first === 'output') {
      const body = outputs.get(second)?.body;
      return isTrue(body?.['sensitive']) || this.isTainted(body?.['value'] ?? null);
    }
    return this.#isBlockTainted(resources.get(name)?.body);
  }

  #isBlockTainted(body: JsonObject | undefined): boolean {
    return body !== undefined && this.isTainted(body, body);
  }

  /** Addresses of the resources that one of this module refers to. */
  needsOf(resource: Resource): ReadonlySet<string> {
    let needs = this.#needs.get(resource.address);
    if (needs === undefined) {
      needs = new Set();
      this.#collect(resource.body, { found: needs, seen: new Set() });
      this.#needs.set(resource.address, needs);
    }
    return needs;
  }

  #collect(json: Json, needs: Needs): void {
    if (typeof json === 'string' && hasTemplate(json)) {
      for (const names of this.#parsed.referencesIn(json)) this.#addNeed(names, needs);
    } else if (typeof json === 'object' && json !== null) {
      for (const item of Object.values(json)) this.#collect(item, needs);
    }
  }

  #addNeed([first = '', second = '', third = '']: readonly string[], needs: Needs): void {
    const { prefix, config, call } = this.#tree;
    const resource = config.resources.get(`${first}.${second}`);
    if (resource !== undefined) needs.found.add(resource.address);
    const key = `${prefix}${first}.${second}.${third}`;
    if (needs.seen.has(key)) return;
    needs.seen.add(key);
    if (first === 'local') this.#collect(config.locals.get(second)?.value ?? null, needs);
    if (first === 'data') this.#collect(config.data.get(`${second}.${third}`)?.body ?? null, needs);
    if (first === 'var' && call !== undefined && this.#parent !== undefined)
      this.#parent.#collect(call.body[second] ?? null, needs);
    if (first === 'module') this.#addModule(second, third, needs);
  }

  #addModule(name: string, output: string, needs: Needs): void {
    const child = this.child(name);
    const outputs = this.#tree.children.get(name)?.config.outputs;
    if (child === undefined || outputs === undefined) return;
    const wanted = outputs.has(output) ? [output] : [...outputs.keys()];
    for (const each of wanted) child.#collect(outputs.get(each)?.body['value'] ?? null, needs);
  }
}

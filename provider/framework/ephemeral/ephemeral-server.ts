// Serves one ephemeral resource: one method for each call of Terraform. Values in, values out.
import type { Attributes, StateOf } from '../attribute.ts';
import { failure, type Diagnostic } from '../diagnostic.ts';
import { withoutNullEntries } from '../null-entries.ts';
import type { ConfigOf, PrivateData } from '../object-type.ts';
import { begin, type RunningOperation } from '../operation.ts';
import { planChange } from '../plan.ts';
import type { AnyProvider } from '../provider.ts';
import { redacted } from '../redact.ts';
import { validateAttributes } from '../validate.ts';
import { knownPart, type ValueMap } from '../value.ts';
import type { AnyEphemeralResource } from './ephemeral-resource.ts';

interface EphemeralDeps<C> {
  readonly provider: AnyProvider<C>;
  readonly resource: AnyEphemeralResource<C>;
  /** Undefined when the provider is not configured. */
  readonly client: C | undefined;
  readonly stopping: AbortSignal;
  readonly unconfigured: (what: string) => Diagnostic;
}

interface Renewed {
  readonly privateData: PrivateData;
  /** Undefined: no further renewal. */
  readonly renewAt: Date | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const defaultLimitMs = 60_000;

export class EphemeralServer<C> {
  readonly #deps: EphemeralDeps<C>;

  constructor(deps: EphemeralDeps<C>) {
    this.#deps = deps;
  }

  get resource(): AnyEphemeralResource<C> {
    return this.#deps.resource;
  }

  validate(written: ValueMap): readonly Diagnostic[] {
    const { resource } = this;
    const { attributes } = resource;
    const config = withoutNullEntries(attributes, written);
    // Terraform never stores it.
    const found = validateAttributes(attributes, config, { writeOnlyAllowed: true });
    return redacted([...found, ...(resource.validate?.(config as ConfigOf<Attributes>) ?? [])], attributes, [config]);
  }

  /** Returns the configuration with defaults and the values from opening; a null `result`: it could not be opened. */
  async open(config: ValueMap): Promise<Renewed & { readonly result: ValueMap | null }> {
    const { resource } = this;
    const { attributes } = resource;
    const given = knownPart(planChange(attributes, withoutNullEntries(attributes, config), null).planned) as ValueMap;
    const ran = await this.#operate('open', {}, (context) => resource.open(given as StateOf<Attributes>, context));
    const diagnostics = redacted(ran.diagnostics, attributes, [config]);
    if (ran.done === undefined) return { result: null, privateData: {}, renewAt: undefined, diagnostics };
    const values = ran.done.values as ValueMap;
    const result = Object.keys(attributes).map(
      (name) => [name, values[name] ?? config[name] ?? given[name] ?? null] as const,
    );
    const { privateData } = ran;
    return { result: Object.fromEntries(result), privateData, renewAt: ran.done.renewAt, diagnostics };
  }

  /** A resource without `renew` stays as it is. */
  async renew(privateData: PrivateData): Promise<Renewed> {
    const { resource } = this;
    if (resource.renew === undefined) return { privateData, renewAt: undefined, diagnostics: [] };
    const { done, ...ran } = await this.#operate('renew', privateData, async (context) => resource.renew?.(context));
    return { ...ran, renewAt: done };
  }

  /** Most have nothing to close. */
  async close(privateData: PrivateData): Promise<readonly Diagnostic[]> {
    const { resource } = this;
    if (resource.close === undefined) return [];
    return (await this.#operate('close', privateData, async (context) => resource.close?.(context))).diagnostics;
  }

  /** Runs `work` under the time limit; on failure returns undefined and adds diagnostics. */
  async #operate<T>(
    verb: 'open' | 'renew' | 'close',
    privateData: PrivateData,
    work: (context: RunningOperation<C>['context']) => Promise<T>,
  ): Promise<{ readonly done: T | undefined; readonly privateData: PrivateData; readonly diagnostics: Diagnostic[] }> {
    const { provider, resource, client, stopping, unconfigured } = this.#deps;
    const what = `${verb} the ephemeral ${resource.typeName}`;
    if (client === undefined) return { done: undefined, privateData, diagnostics: [unconfigured(what)] };
    const timeoutMs = resource.timeoutMs ?? defaultLimitMs;
    const begun = begin(provider, client, { ...privateData }, { timeoutMs, stopping });
    let done: T | undefined;
    try {
      done = await work(begun.context);
    } catch (error) {
      if (begun.context.signal.aborted)
        begun.diagnostics.push(failure(`Timed out: ${what}`, `It took longer than ${timeoutMs / 1000} s.`));
      else begun.fail(what, error);
    } finally {
      begun.end();
    }
    return { done, privateData: begun.context.privateData, diagnostics: begun.diagnostics };
  }
}

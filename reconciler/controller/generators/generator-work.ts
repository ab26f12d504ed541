// Runs the generators of a controller: looks for directories and pull requests, and ends sets whose objects are all gone.
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { ControllerConfig } from '../config/config.ts';
import type { Entry, PullRequestsConfig } from '../config/generator-schema.ts';
import type { Hub } from '../hub.ts';
import type { ManagedSet } from '../sets/managed-set.ts';
import type { SourceWatch } from '../sets/source-watch.ts';
import type { Source } from '../sources/source.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { requestSource, type GeneratedSets } from './generated-sets.ts';
import { RequestWatch } from './request-watch.ts';

export interface GeneratorWorkDeps {
  readonly generated: GeneratedSets;
  readonly config: () => ControllerConfig;
  readonly sources: ReadonlyMap<string, { readonly source: Source; readonly watch: SourceWatch }>;
  readonly isInCharge: () => boolean;
  /** Called when the generators' sets change. */
  readonly onFound: () => void;
  readonly tasks: Tasks;
  readonly hub: Hub;
  readonly end: AbortSignal;
}

export class GeneratorWork {
  readonly #deps: GeneratorWorkDeps;
  /** Leaving sets whose objects are all gone. */
  readonly #left = new WeakSet<ManagedSet>();
  /** By generator. */
  readonly #requests = new Map<string, RequestWatch>();

  constructor(deps: GeneratorWorkDeps) {
    this.#deps = deps;
  }

  /** Starts when this controller becomes active. */
  begin(): void {
    this.#deps.onFound();
    for (const watch of this.#requests.values()) watch.lookNow();
  }

  /** Looks for directories in a new revision of a source. */
  async look(name: string, revision: string): Promise<void> {
    const { generated, config, sources, isInCharge, onFound, end } = this.#deps;
    const source = sources.get(name)?.source;
    if (source === undefined || !isInCharge()) return;
    const checkout = async (): Promise<string> => (await source.checkout(revision, end)).dir;
    if (await generated.look(config().generators, name, revision, checkout)) onFound();
  }

  isAbout(source: string): boolean {
    return this.#deps.config().generators.some(({ directories }) => directories?.source === source);
  }

  /** Checks the pull requests of a source after a webhook. */
  lookAt(source: string): void {
    const { sources } = this.#deps;
    for (const [name, { watch }] of sources) if (name.startsWith(requestSource(source, ''))) watch.lookNow();
    for (const watch of this.#requests.values()) if (watch.config.source === source) watch.lookNow();
  }

  /** Starts polling for the generators in use; stops polling for removed and changed ones. */
  async watchRequests(): Promise<void> {
    const { config, tasks, hub, isInCharge } = this.#deps;
    const { generators, folder } = config();
    for (const [name, watch] of this.#requests) {
      if (generators.some((one) => one.name === name && isDeepStrictEqual(one.pullRequests, watch.config))) continue;
      this.#requests.delete(name);
      await tasks.end(watch, 'the generator changed');
    }
    for (const { name, pullRequests } of generators) {
      if (pullRequests === undefined || this.#requests.has(name)) continue;
      const watch = new RequestWatch({
        name,
        config: pullRequests,
        absolute: (path) => resolve(folder, path),
        isActive: isInCharge,
        onRequests: (entries) => this.#take(name, pullRequests, entries),
        onError: (message) => hub.log('error', message),
      });
      this.#requests.set(name, watch);
      tasks.begin(watch, (end) => watch.run(end));
    }
  }

  async #take(name: string, config: PullRequestsConfig, entries: readonly Entry[]): Promise<void> {
    const { generated, sources, onFound } = this.#deps;
    if (!(await generated.take(name, config, entries))) return;
    onFound();
    for (const { number = '' } of entries) sources.get(requestSource(config.source, number))?.watch.lookNow();
  }

  /** Ends a leaving set when all of its objects are gone. */
  setChanged(set: ManagedSet): void {
    const { generated, hub, isInCharge, onFound } = this.#deps;
    const { name } = set.config;
    if (!set.isGone || !isInCharge() || this.#left.has(set)) return;
    this.#left.add(set);
    hub.log('info', 'nothing of it is left on its hosts: the set ends', { set: name });
    void generated.forget(name).then(onFound, (error: unknown) => {
      this.#left.delete(set);
      hub.log('error', `its end cannot be stored: ${reasonOf(error)}`, { set: name });
    });
  }

  /** Called when the set left the configuration: deletes its stored state if its objects are gone. */
  async ended(set: ManagedSet): Promise<void> {
    if (this.#left.delete(set)) await set.forget();
  }
}

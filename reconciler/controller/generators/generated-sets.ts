// Stores the last results of generators and completes a configuration with their sets. The results survive restarts, so an
// unreachable source removes no set.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { hint } from '../../../server/api/text/nearest-word.ts';
import { parseHostPattern, unknownNameIn } from '../../core/documents/host-pattern.ts';
import { wrong, type Finding } from '../../manifest/text/finding.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import { ringOf } from '../config/check-names.ts';
import type { ControllerConfig, SetConfig, SourceConfig } from '../config/config.ts';
import type { Entry, GeneratorConfig, PullRequestsConfig } from '../config/generator-schema.ts';
import { readState, StateFile, undone } from '../sets/state-file.ts';
import { decideLeaving, type MadeSet } from './decide-leaving.ts';
import { entriesOfHosts, expand, type SetOfEntry } from './expand.ts';
import { findDirectories } from './find-directories.ts';

interface GeneratorResult {
  /** The query: an answer is only valid for this one. */
  readonly asked: string;
  readonly revision: string;
  readonly entries: readonly Entry[];
}

interface Stored {
  readonly found: Readonly<Record<string, GeneratorResult>>;
  /** By name of the set. */
  readonly made: Readonly<Record<string, MadeSet>>;
}

export interface Completed {
  readonly config: ControllerConfig;
  /** Without the sets of generators. */
  readonly written: ControllerConfig;
  /** Errors that make gantry.yaml unusable. */
  readonly findings: readonly Finding[];
  /** Sets that generators leave out, and why; the rest is in use. */
  readonly problems: readonly string[];
  /** For `keep`, once the configuration is in use. */
  readonly made: Stored['made'];
}

const empty: Stored = { found: {}, made: {} };

export class GeneratedSets {
  readonly #store: StateFile;
  readonly #file: string;
  #state: Stored = empty;

  constructor(stateDir: string) {
    this.#file = join(stateDir, 'generators.json');
    this.#store = new StateFile(this.#file);
  }

  /** Reloads the file too, since another process may have written it. */
  async load(): Promise<void> {
    await this.#store.flush();
    this.#state = { ...empty, ...((await readState(this.#file)) as Partial<Stored> | undefined) };
  }

  /** The configuration with the sets of its generators. Changes nothing. */
  complete(config: ControllerConfig, hosts: readonly Host[]): Completed {
    return new Completion(config, hosts, this.#state).result();
  }

  /** Stores the made sets of a configuration that is now in use. */
  async keep(all: Stored['made']): Promise<void> {
    // A leaving set that is not stored any more was forgotten since the configuration was completed.
    const isThere = ([name, { isLeaving }]: readonly [string, MadeSet]): boolean =>
      isLeaving !== true || Object.hasOwn(this.#state.made, name);
    const made = Object.fromEntries(Object.entries(all).filter(isThere));
    if (!isDeepStrictEqual(made, this.#state.made)) await this.#change({ made });
  }

  /** Drops a set whose objects are all gone. */
  async forget(set: string): Promise<void> {
    const { [set]: _gone, ...made } = this.#state.made;
    await this.#change({ made });
  }

  /** Looks for directories in a revision of a source. Returns whether the results changed. */
  async look(
    generators: readonly GeneratorConfig[],
    source: string,
    revision: string,
    checkout: () => Promise<string>,
  ): Promise<boolean> {
    let isNew = false;
    for (const { name, directories } of generators) {
      if (directories?.source !== source) continue;
      const before = this.#state.found[name];
      if (before?.asked === questionOf(directories) && before.revision === revision) continue;
      const entries = await findDirectories(await checkout(), directories);
      isNew = (await this.take(name, directories, entries, revision)) || isNew;
    }
    return isNew;
  }

  /** Stores a complete answer. Returns whether it changed. */
  async take(name: string, question: object, entries: readonly Entry[], revision = ''): Promise<boolean> {
    const asked = questionOf(question);
    const before = this.#state.found[name];
    const isSame = before?.asked === asked && isDeepStrictEqual(before.entries, entries);
    if (!isSame || before.revision !== revision)
      await this.#change({ found: { ...this.#state.found, [name]: { asked, revision, entries } } });
    return !isSame;
  }

  async #change(part: Partial<Stored>): Promise<void> {
    const before = this.#state;
    this.#state = { ...before, ...part };
    await this.#store.write(this.#state).catch((error: unknown) => {
      this.#state = undone(this.#state, before, part);
      throw error;
    });
  }
}

const questionOf = (question: object): string => JSON.stringify(question);

/** The query of a generator with external input, for which a set with a mistake is left out and the others are made. */
const questionIn = ({ directories, pullRequests }: GeneratorConfig): object | undefined => directories ?? pullRequests;

/** Completes a configuration: sets of the file first, then those of lists and hosts, then those found elsewhere. */
class Completion {
  readonly #config: ControllerConfig;
  readonly #hosts: readonly Host[];
  readonly #state: Stored;
  readonly #sets: SetConfig[];
  readonly #sources: SourceConfig[];
  readonly #made: Record<string, MadeSet> = {};
  readonly #findings: Finding[] = [];
  readonly #problems: string[] = [];

  constructor(config: ControllerConfig, hosts: readonly Host[], state: Stored) {
    this.#config = config;
    this.#hosts = hosts;
    this.#state = state;
    this.#sets = [...config.sets];
    this.#sources = [...config.sources];
  }

  result(): Completed {
    const numbered = this.#config.generators.map((generator, index) => ({ generator, at: `generators.${index}` }));
    for (const isFound of [false, true])
      for (const { generator, at } of numbered)
        if ((questionIn(generator) !== undefined) === isFound) this.#generate(generator, at);
    this.#checkOrder();
    const made = this.#made;
    return {
      config: { ...this.#config, sets: this.#sets, sources: this.#sources },
      written: this.#config,
      findings: this.#findings,
      problems: this.#problems,
      made,
    };
  }

  #generate(generator: GeneratorConfig, at: string): void {
    const { name } = generator;
    const before = Object.values(this.#state.made).filter((one) => one.generator === name);
    const entries = this.#entriesOf(generator);
    if (entries === undefined) return this.#stay(before, generator, at);
    const { sets, problems } = expand(generator, entries);
    const found = problems.map(({ path, message }) => wrong('bad-config', `${at}.${path}`, message));
    // A new set must not take the name of an existing one.
    const isKnown = ({ set }: SetOfEntry): boolean => before.some((one) => isDeepStrictEqual(one.set, set));
    for (const set of [...sets.filter(isKnown), ...sets.filter((one) => !isKnown(one))])
      found.push(...this.#add(set, generator, at));
    if (questionIn(generator) === undefined) this.#findings.push(...found);
    else this.#problems.push(...found.map(({ message }) => `the generator ${name}: ${message}`));
    // A set that is missing because of a mistake must not leave.
    if (found.length > 0) return this.#stay(before, generator, at);
    const { leaving, kept, problem } = decideLeaving(generator, before, new Set(sets.map(({ set }) => set.name)));
    this.#stay([...leaving, ...kept], generator, at);
    if (problem !== undefined) this.#problems.push(problem);
  }

  /** Undefined: not known yet. */
  #entriesOf(generator: GeneratorConfig): readonly Entry[] | undefined {
    const { name, list, hosts = [] } = generator;
    if (list !== undefined) return list.map(textsOf);
    const question = questionIn(generator);
    if (question === undefined) {
      const patterns = (typeof hosts === 'string' ? [hosts] : hosts).flatMap((text) => {
        const pattern = parseHostPattern(text);
        return typeof pattern === 'string' ? [] : [pattern];
      });
      return entriesOfHosts(patterns, this.#hosts);
    }
    const found = this.#state.found[name];
    return found?.asked === questionOf(question) ? found.entries : undefined;
  }

  /** Keeps the sets as they were made. */
  #stay(before: readonly MadeSet[], generator: GeneratorConfig, at: string): void {
    for (const one of before) {
      if (this.#made[one.set.name] !== undefined) continue;
      const problems = this.#add(one, generator, at, one.isLeaving);
      this.#problems.push(...problems.map(({ message }) => `the generator ${generator.name}: ${message}`));
    }
  }

  #add({ set, entry }: SetOfEntry, generator: GeneratorConfig, at: string, isLeaving?: true): readonly Finding[] {
    const place = `${at}.set`;
    const other = this.#sets.find(({ name }) => name === set.name);
    if (other !== undefined) {
      const who = other.generator === undefined ? 'a set of the file' : `a set of the generator ${other.generator}`;
      return [wrong('bad-config', `${place}.name`, `the name ${set.name} is used twice: ${who} has it`)];
    }
    const { set: read, problems } = this.#config.readGenerated(set, place);
    if (read === undefined) return problems;
    const strange = read.hosts.flatMap((pattern) => unknownNameIn(pattern, this.#hosts) ?? []);
    if (strange.length > 0)
      return strange.map((text) => wrong('bad-config', `${place}.hosts`, `the hosts of the set ${set.name}: ${text}`));
    const { name, prune, pullRequests } = generator;
    const made = { ...read, generator: name };
    this.#made[set.name] = { generator: name, set, entry, ...(isLeaving === true ? { isLeaving } : {}) };
    if (isLeaving === true) this.#sets.push({ ...made, ...leavingPart(read, prune) });
    else if (pullRequests === undefined) this.#sets.push(made);
    else return this.#addOfRequest(made, pullRequests, entry, place);
    return [];
  }

  /** Adds a set that reads the branch of its pull request, with the settings of its source. */
  #addOfRequest(set: SetConfig, { source }: PullRequestsConfig, entry: Entry, place: string): readonly Finding[] {
    const base = this.#config.sources.find(({ name }) => name === source);
    if (set.source !== source || base?.git === undefined)
      return [wrong('bad-config', `${place}.source`, `${place}.source must be ${source}, the source of the generator`)];
    const { branch: _branch, tag: _tag, semver: _semver, ...git } = base.git;
    const name = requestSource(source, entry['number'] ?? '');
    if (this.#config.sources.some((one) => one.name === name))
      return [wrong('bad-config', `${place}.source`, `the file has a source ${name}: rename it`)];
    if (!this.#sources.some((one) => one.name === name))
      this.#sources.push({ name, git: { ...git, branch: entry['branch'] ?? '' } });
    this.#sets.push({ ...set, source: name });
    return [];
  }

  /** Checks dependencies, which may name generated sets. */
  #checkOrder(): void {
    const known = this.#sets.map(({ name }) => name);
    const wrongly = this.#sets.flatMap(({ name, generator, dependsOn }) =>
      generator === undefined ? [] : dependsOn.filter((one) => !known.includes(one)).map((one) => ({ name, one })),
    );
    for (const { name, one } of wrongly) this.#leaveOut(name, `there is no set ${one}${hint(one, known)}`);
    const ring = ringOf(this.#sets);
    if (ring !== undefined)
      this.#leaveOut(ring.names[0] ?? '', `the sets wait for each other: ${ring.names.join(' -> ')}`);
  }

  #leaveOut(name: string, why: string): void {
    const at = this.#sets.findIndex((set) => set.name === name);
    const generator = this.#config.generators.findIndex((one) => one.name === this.#sets[at]?.generator);
    const found = this.#config.generators[generator];
    const message = `${name} cannot wait for another set: ${why}`;
    if (found === undefined || questionIn(found) === undefined)
      this.#findings.push(wrong('bad-config', `generators.${generator}.set.dependsOn`, message));
    else this.#problems.push(`the generator ${found.name}: ${message}`);
    this.#sets.splice(at, 1);
  }
}

/** The name of a pull request's source. */
export const requestSource = (source: string, number: string): string => `${source}.pr-${number}`;

const textsOf = (entry: Readonly<Record<string, string | number | boolean>>): Entry =>
  Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, String(value)]));

/** A set that leaves declares nothing, deletes what it owns, and waits for no other set. */
const leavingPart = (set: SetConfig, prune: GeneratorConfig['prune']): Partial<SetConfig> => ({
  isLeaving: true,
  dependsOn: [],
  plan: { ...set.plan, prune: true, pruneLimit: { percent: 100 }, allowDestroy: prune?.data === true },
});

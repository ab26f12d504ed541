// Pools and networks of the whole cluster: each is defined once, and every member realises it. The definition is authoritative: a member
// that was away catches up with it.
import { errors, mustFind } from '../../api/errors.ts';
import type { Member, Members } from '../../membership/members.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { DefinitionDocument } from '../../records/cluster-documents.ts';
import type { Records } from '../../records/records.ts';
import { KnownProblems } from '../shared/known-problems.ts';
import {
  begunDefinition,
  isEqual,
  noForeign,
  ofMember,
  overridesByNumber,
  partOf,
  pendingDefinition,
} from './definition-parts.ts';
import type { NewObject, Part, Realisation } from './definition-parts.ts';

export class Definitions {
  readonly #records: Records;
  readonly #members: Members;
  readonly #log: Log;
  readonly #on: Realisation;
  /** This daemon is creating them: their records say `creating`, and `realise` must not undo them. */
  readonly #beingCreated = new Set<string>();
  #realising: Promise<void> = Promise.resolve();
  readonly #problems: KnownProblems;

  constructor(deps: {
    readonly records: Records;
    readonly members: Members;
    readonly log: Log;
    readonly on: Realisation;
  }) {
    this.#records = deps.records;
    this.#members = deps.members;
    this.#log = deps.log;
    this.#problems = new KnownProblems(deps.log);
    this.#on = deps.on;
  }

  /** Also undefined for a deleted one that only waits for offline members. */
  get(name: string): DefinitionDocument | undefined {
    const document = this.#records[this.#on.kind].get(name)?.document;
    return document?.state === 'deleted' ? undefined : document;
  }

  locations(name: string): readonly string[] {
    return this.#holders(name).map((member) => member.name);
  }

  /** Stores config for one member of an object that is created later, as LXD clients send it. */
  async define(target: Member, { name, type, config }: Pick<NewObject, 'name' | 'type' | 'config'>): Promise<void> {
    const { what, kind } = this.#on;
    noForeign(this.#on, name, config, { at: 'config', remedy: 'leave it to the request without target' });
    this.#needFree(name);
    await this.#records.retry((changes) => {
      const known = this.get(name);
      if (known !== undefined && known.state !== 'pending') throw errors.exists(what, name);
      if (known?.overrides[target.number] !== undefined)
        throw errors.badRequest(`The ${what} ${name} is defined on the member ${target.name} already`);
      if (known !== undefined && known.type !== type)
        throw errors.badRequest(
          `The ${what} ${name} is defined with ${known.type} on another member, not with ${type}`,
        );
      const overrides = { ...known?.overrides, [target.number]: config };
      changes.put(kind, name, pendingDefinition(type, overrides));
    });
  }

  /** Creates it on all online members, or on none; the others create it on their return. */
  async create(object: NewObject): Promise<void> {
    const { name } = object;
    if (this.#beingCreated.has(name)) throw errors.exists(this.#on.what, name);
    this.#beingCreated.add(name);
    try {
      await this.#create(object);
    } finally {
      this.#beingCreated.delete(name);
    }
  }

  async #create(object: NewObject): Promise<void> {
    const { name, type } = object;
    const { kind, keys } = this.#on;
    this.#needFree(name);
    const numbered = overridesByNumber(this.#on, object, this.#members);
    const definition = await this.#records.retry((changes) => {
      const begun = begunDefinition(this.#on, object, { known: this.get(name), members: this.#members, numbered });
      changes.put(kind, name, begun);
      return begun;
    });
    const made: Member[] = [];
    try {
      const [here, ...others] = this.#present();
      if (here === undefined) throw errors.internal('The cluster has no members');
      await this.#on.create(here, name, type, partOf(definition, here.number));
      made.push(here);
      // A value that the server chose (a subnet) is the same on all members.
      const filled = { ...definition, config: keys.split(this.#on.here(name)?.config ?? {}).shared };
      const ends = await Promise.allSettled(
        others.map(async (member) => {
          await this.#on.create(member, name, type, partOf(filled, member.number));
          made.push(member);
        }),
      );
      const [failed] = ends.flatMap((end, index) =>
        end.status === 'rejected' ? [{ member: others[index]?.name ?? '', error: end.reason as unknown }] : [],
      );
      if (failed !== undefined) throw ofMember(failed.member, failed.error);
      await this.#put(name, { ...filled, state: 'created' });
    } catch (error) {
      for (const member of made)
        await this.#on.remove(member, name).catch((why: unknown) => this.#left(name, member, why));
      await this.#takeBack(name, definition);
      throw error;
    }
  }

  /** If `applyHere` changes keys of all members, they apply to all; offline members follow on their return. */
  async change(name: string, applyHere: () => Promise<void>): Promise<void> {
    const { keys } = this.#on;
    const definition = this.#created(name);
    const before = this.#on.here(name);
    await applyHere();
    const now = this.#on.here(name);
    if (now === undefined) return;
    const { shared, own } = keys.split(now.config);
    const wanted: DefinitionDocument = {
      ...definition,
      config: shared,
      description: now.description,
      overrides: { ...definition.overrides, [this.#members.here]: own },
    };
    const [here, ...others] = this.#present();
    const changed: Member[] = [];
    try {
      for (const member of others) {
        await this.#on.change(member, name, this.#wantedOf(wanted, member.number, name)).catch((error: unknown) => {
          throw ofMember(member.name, error);
        });
        changed.push(member);
      }
      await this.#put(name, wanted);
    } catch (error) {
      for (const member of changed)
        await this.#on
          .change(member, name, this.#wantedOf(definition, member.number, name))
          .catch((why: unknown) => this.#left(name, member, why));
      if (here !== undefined && before !== undefined)
        await this.#on.change(here, name, before).catch((why: unknown) => this.#left(name, here, why));
      throw error;
    }
  }

  /** Removes it from all members, from offline ones on their return; refused while it has users. */
  async remove(name: string): Promise<void> {
    const { what, users } = this.#on;
    const definition = mustFind(this.get(name), what, name);
    if (definition.state === 'pending') return await this.#forget(name);
    const found = users(name);
    if (found.length > 0) throw errors.inUse(what, name, found);
    for (const member of this.#present().toReversed())
      if (this.#partOf(member.number, name) !== undefined)
        await this.#on.remove(member, name).catch((error: unknown) => {
          throw ofMember(member.name, error);
        });
    if (this.#holders(name).length === 0) await this.#forget(name);
    else await this.#put(name, { ...definition, state: 'deleted' });
  }

  /** What this member failed to realise at the last attempt: by name, a sentence. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems.byName;
  }

  /** Realises here what the cluster defines and this member lacks, and undoes what this member began and did not complete. */
  realise(): Promise<void> {
    this.#realising = this.#realising.then(() => this.#realiseAll());
    return this.#realising;
  }

  async #realiseAll(): Promise<void> {
    const here = this.#members.byNumber(this.#members.here);
    if (here === undefined) return;
    const wellNow = new Set(this.#problems.byName.keys());
    for (const { name, document } of this.#records[this.#on.kind].list()) {
      try {
        if (document.state === 'creating' && document.by === here.number && !this.#beingCreated.has(name))
          await this.#undo(name, document);
        else if (document.state === 'created') await this.#realiseOne(here, name, document);
        else if (document.state === 'deleted') await this.#finishRemoval(here, name);
      } catch (error) {
        const what = `The ${this.#on.what} ${name} of the cluster`;
        this.#problems.note(name, `${what} is not as defined on this member: ${errorText(error)}`);
        wellNow.delete(name);
      }
    }
    for (const name of wellNow) this.#problems.forget(name);
  }

  async #realiseOne(here: Member, name: string, definition: DefinitionDocument): Promise<void> {
    const own = this.#on.here(name);
    const wanted = this.#wantedOf(definition, here.number, name);
    if (own === undefined) return await this.#on.create(here, name, definition.type, wanted);
    if (!own.isReady) return;
    const { shared } = this.#on.keys.split(own.config);
    const isSame = own.description === definition.description && isEqual(shared, definition.config);
    if (!isSame) await this.#on.change(here, name, wanted);
  }

  /** The last member to delete its part deletes the definition. */
  async #finishRemoval(here: Member, name: string): Promise<void> {
    if (this.#on.here(name) !== undefined) await this.#on.remove(here, name);
    if (this.#holders(name).length === 0) await this.#forget(name);
  }

  /** The daemon ended during the creation: removes it from all members. */
  async #undo(name: string, begun: DefinitionDocument): Promise<void> {
    for (const member of this.#all())
      if (this.#partOf(member.number, name) !== undefined) await this.#on.remove(member, name);
    await this.#takeBack(name, begun);
  }

  /** Without the config of its members, a repeated request would make another object. */
  async #takeBack(name: string, { type, before }: DefinitionDocument): Promise<void> {
    if (before === undefined) await this.#forget(name);
    else await this.#put(name, pendingDefinition(type, before));
  }

  #created(name: string): DefinitionDocument {
    const definition = this.get(name);
    if (definition?.state !== 'created') throw errors.notFound(this.#on.what, name);
    return definition;
  }

  /** Throws AppError unavailable while offline members still have a deleted one of this name. */
  #needFree(name: string): void {
    const holders = this.#holders(name);
    if (this.#records[this.#on.kind].get(name)?.document.state !== 'deleted' || holders.length === 0) return;
    throw errors.unavailable(
      `A deleted ${this.#on.what} ${name} is still on ${holders.map((member) => member.name).join(', ')}, which was offline: bring it back, or remove it from the cluster`,
    );
  }

  #holders(name: string): readonly Member[] {
    return this.#members.list().filter(({ number }) => this.#partOf(number, name) !== undefined);
  }

  /** This member first. */
  #present(): readonly Member[] {
    return this.#all().filter(({ isPresent }) => isPresent);
  }

  #all(): readonly Member[] {
    const all = this.#members.list();
    return [...all.filter(({ isHere }) => isHere), ...all.filter(({ isHere }) => !isHere)];
  }

  #partOf(number: number, name: string): Part | undefined {
    return number === this.#members.here ? this.#on.here(name) : this.#on.of(number, name);
  }

  /** The shared config with the member's own: what it was given, and what the host made of it. */
  #wantedOf(definition: DefinitionDocument, number: number, name: string): Part {
    const own = this.#on.keys.split(this.#partOf(number, name)?.config ?? {}).own;
    return {
      config: { ...definition.config, ...definition.overrides[number], ...own },
      description: definition.description,
    };
  }

  async #put(name: string, document: DefinitionDocument): Promise<void> {
    await this.#records.retry((changes) => changes.put(this.#on.kind, name, document));
  }

  async #forget(name: string): Promise<void> {
    await this.#records.retry((changes) => {
      if (this.#records[this.#on.kind].has(name)) changes.delete(this.#on.kind, name);
    });
  }

  #left(name: string, member: Member, error: unknown): void {
    this.#log.error(`The ${this.#on.what} ${name} is left over on the member ${member.name}: ${errorText(error)}`);
  }
}

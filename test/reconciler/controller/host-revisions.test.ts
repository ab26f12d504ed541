// The revision of a set on each host, over random commits, edits of gantry.yaml, kills, failures and rollbacks: a host changes its
// revision, full or partial, only by a rollout or a requested rollback.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SetConfig } from '../../../reconciler/controller/config/config.ts';
import type { HostTarget } from '../../../reconciler/controller/sets/on-host/host-target.ts';
import type { SetOnHost } from '../../../reconciler/controller/sets/on-host/set-on-host.ts';
import { Rollouts } from '../../../reconciler/controller/sets/rollouts.ts';
import type { Run } from '../../../reconciler/controller/sets/run.ts';
import { SetRevisions } from '../../../reconciler/controller/sets/set-revisions.ts';
import { sealWith } from '../../../reconciler/controller/sets/digest-key.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import type { Source } from '../../../reconciler/controller/sources/source.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const hostNames = ['h1', 'h2', 'h3'] as const;
type HostName = (typeof hostNames)[number];

type Step =
  | { readonly do: 'commit' | 'edit' | 'kill' | 'unpin' | 'wait' }
  | { readonly do: 'end'; readonly host: HostName; readonly isGood: boolean }
  | { readonly do: 'rollback'; readonly back: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.constantFrom(...(['commit', 'edit', 'kill', 'unpin', 'wait'] as const)).map((what) => ({ do: what })),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      host: fc.constantFrom(...hostNames),
      isGood: fc.boolean(),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant('rollback' as const), back: fc.nat(3) }), weight: 1 },
);

/** The state of a host, which outlives the controller. */
interface RealHost {
  at: string | undefined;
  /** The turn in which it was sent `at`, which arrives later. */
  givenAt: number;
  /** The turn in which a rollback last ended, or a revision was withdrawn. */
  allowedAt: number;
}

/** A write of a process that was killed. */
const ignored = (): void => {};

class World {
  readonly #folder: string;
  readonly #takesBack: boolean;
  readonly real = new Map<HostName, RealHost>(
    hostNames.map((name) => [name, { at: undefined, givenAt: 0, allowedAt: 0 }]),
  );
  #turn = 0;
  readonly commits: string[] = [];
  readonly wrong: string[] = [];
  #stored!: StoredSet;
  readonly #all: StoredSet[] = [];
  #revisions!: SetRevisions;
  #rollouts!: Rollouts;
  #hosts = new Map<HostName, FakeHost>();
  #isEnded = { value: false };

  constructor(folder: string, takesBack: boolean) {
    this.#folder = folder;
    this.#takesBack = takesBack;
  }

  /** Starts a controller, or recreates a set with an edited configuration. */
  async begin(): Promise<void> {
    const isEnded = { value: false };
    const stored = new StoredSet(this.#folder, 'web', { seal: sealWith('k'.repeat(43)) });
    await stored.load();
    const hosts = hostNames.map(
      (name) => new FakeHost(name, (host, target) => this.#given(host, target, stored, isEnded)),
    );
    const list = hosts as unknown as readonly SetOnHost[];
    const run = { end: () => {}, include: () => {} } as unknown as Run;
    const rollout = { stopAfter: 1, rollback: this.#takesBack };
    const rollouts: Rollouts = new Rollouts({
      rollout,
      batchesOf: (all) => all.map((host) => [host]),
      hosts: list,
      appliedText: (host) => stored.state.hosts[host]?.text,
      noteGiven: (names, revision) => void stored.noteGiven(names, revision).catch(ignored),
      begin: () => run,
      hasEarlier: () => stored.lastGood !== undefined,
      goBack: async (from) => {
        const last = await revisions.goBack(from);
        if (last !== undefined) this.#allowBack();
        return last;
      },
      onWithdrawn: () => {},
      onGood: (revision) => void stored.noteGood(revision).catch(ignored),
      onError: () => {},
      by: 'test',
      nowMs: () => 0,
    });
    const source = { checkout: async (revision: string) => ({ dir: await this.#files(revision) }) };
    const revisions: SetRevisions = new SetRevisions({
      config: { name: 'web', path: '.', variables: {}, hosts: [] } as unknown as SetConfig,
      source: source as unknown as Source,
      stored,
      hosts: list,
      rollouts,
      isActive: () => !isEnded.value,
      seal: sealWith('k'.repeat(43)),
      onRefused: (_revision, problems) => this.wrong.push(...problems),
      onError: () => {},
      onWarning: () => {},
      nowMs: () => 0,
    });
    this.#stored = stored;
    this.#all.push(stored);
    this.#revisions = revisions;
    this.#rollouts = rollouts;
    this.#hosts = new Map(hosts.map((host) => [host.name, host]));
    this.#isEnded = isEnded;
    await revisions.begin({ kind: 'resync', reason: 'restart', by: 'test' }, new AbortController().signal);
  }

  async #files(revision: string): Promise<string> {
    const folder = await mkdtemp(join(this.#folder, 'files-'));
    await writeFile(join(folder, 'set.yaml'), `kind: profile\nname: p\ndescription: ${revision}\n`);
    return folder;
  }

  /** The first step follows when the state is stored. */
  async #given(fake: FakeHost, { revision }: HostTarget, stored: StoredSet, end: { value: boolean }): Promise<void> {
    const { name } = fake;
    const host = this.real.get(name);
    const givenAt = ++this.#turn;
    const { pin, withdrawn } = stored.state;
    const isWithdrawn = host?.at !== undefined && withdrawn === host.at;
    const isAllowed = host !== undefined && host.allowedAt > host.givenAt;
    const isAsked = isAllowed || pin?.revision === revision || isWithdrawn;
    await stored.flush();
    if (end.value || fake.target?.revision !== revision || host === undefined || host.at === revision) return;
    const isBack = host.at !== undefined && this.commits.indexOf(revision) < this.commits.indexOf(host.at);
    if (isBack && !isAsked) this.wrong.push(`${name} goes back from ${host.at} to ${revision}`);
    host.at = revision;
    host.givenAt = givenAt;
  }

  #allowBack(): void {
    const allowedAt = ++this.#turn;
    for (const host of this.real.values()) host.allowedAt = allowedAt;
  }

  /** `isKilled`: pending writes are lost. */
  async end(isKilled: boolean): Promise<void> {
    this.#isEnded.value = true;
    this.#rollouts.stop('over');
    const file = join(this.#folder, 'sets/web/state.json');
    const before = isKilled ? await readFile(file, 'utf8').catch(() => undefined) : undefined;
    await this.#revisions.close();
    await this.#stored.flush();
    if (isKilled) await (before === undefined ? rm(file, { force: true }) : writeFile(file, before));
  }

  async take(one: Step): Promise<void> {
    const { signal } = new AbortController();
    switch (one.do) {
      case 'commit': {
        const revision = `r${this.commits.length}`;
        this.commits.push(revision);
        await this.#revisions.offer({ revision, at: '2026-01-01T00:00:00Z' }, signal);
        return;
      }
      case 'edit':
      case 'kill':
        await this.end(one.do === 'kill');
        return this.begin();
      case 'unpin':
        if (this.#stored.state.pin !== undefined) this.#allowBack();
        if (await this.#revisions.unpin('test', signal)) this.#allowBack();
        return;
      case 'wait':
        return this.settle();
      case 'rollback': {
        const known = this.commits.at(-1 - one.back);
        if (known === undefined) return;
        await this.#revisions.rollback({ revision: known, reason: 'asked', by: 'test' }, signal).catch(() => undefined);
        return;
      }
      case 'end': {
        const host = this.#hosts.get(one.host);
        if (host?.target === undefined) return;
        host.isSynced = one.isGood;
        host.isFailed = !one.isGood;
        const { revision, loaded } = host.target;
        const applied = { revision, text: loaded.text, at: '' };
        const hosts = { ...this.#stored.state.hosts, [host.name]: applied };
        if (one.isGood) void this.#stored.change({ hosts }).catch(ignored);
        this.#rollouts.wake();
      }
    }
  }

  async settle(): Promise<void> {
    for (const stored of this.#all) await stored.flush();
    for (let count = 0; count < 3; count += 1) {
      await this.#revisions.idle();
      await this.#stored.flush();
      await turn();
    }
  }
}

class FakeHost {
  readonly name: HostName;
  readonly isAway = false;
  isSynced = false;
  isFailed = false;
  target: HostTarget | undefined;
  readonly #given: (host: FakeHost, target: HostTarget) => unknown;

  constructor(name: HostName, given: (host: FakeHost, target: HostTarget) => unknown) {
    this.name = name;
    this.#given = given;
  }

  get link(): { readonly host: object } {
    return { host: { name: this.name, address: 'unix:///x', groups: [], labels: {}, vars: {} } };
  }

  give(target: HostTarget): void {
    if (this.target?.revision !== target.revision) [this.isSynced, this.isFailed] = [false, false];
    this.target = target;
    this.#given(this, target);
  }
}

async function ranSteps(steps: readonly Step[], takesBack: boolean): Promise<World> {
  const folder = tempFolder('gantry-moves-');
  const world = new World(folder, takesBack);
  try {
    await world.begin();
    for (const one of steps) await world.take(one);
    await world.settle();
    await world.end(false);
    await world.settle();
    return world;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const commit: Step = { do: 'commit' };
const wait: Step = { do: 'wait' };
const good = (host: HostName): readonly Step[] => [{ do: 'end', host, isGood: true }, wait];
/** All hosts had r0; h1 has r1, h2 is getting it, h3 waits for its batch. */
const partly: readonly Step[] = [commit, wait, ...hostNames.flatMap(good), commit, wait, ...good('h1')];

test.each(['edit', 'kill'] as const)('an %s while a revision is partly applied moves no host', async (change) => {
  const { wrong, real } = await ranSteps([...partly, { do: change }, wait, wait], false);
  expect(wrong).toEqual([]);
  expect(hostNames.map((name) => real.get(name)?.at)).toEqual(['r1', 'r1', 'r0']);
});

test('no sequence of commits, edits, kills and failures moves a host to an unrequested revision', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 20 }), fc.boolean(), async (steps, takesBack) => {
      expect((await ranSteps([...partly, ...steps], takesBack)).wrong).toEqual([]);
    }),
    { numRuns: 60, endOnFailure: true, interruptAfterTimeLimit: 60_000 },
  );
});

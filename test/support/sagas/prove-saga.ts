// Three proofs for any saga: its steps may run twice, a failure at each step unwinds cleanly, unwinding may happen twice;
// and a fourth: a crash after each step is recovered from. Knows no saga.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas, type Saga, type SagaContext, type SagaStep } from '../../../server/operations/saga.ts';
import type { Records } from '../../../server/records/records.ts';
import type { SagaKind } from '../../../server/records/saga-params.ts';
import { readSagaParams, sagaParams } from '../../../server/records/saga-params.ts';
import type { sagaTable } from '../../../server/daemon/compose/saga-table.ts';

export interface SagaUnderTest<P> {
  readonly records: Records;
  readonly saga: Saga<P>;
  readonly params: P;
  /** Everything the saga may touch (records, files, networks), as comparable data. Includes the intents of sagas. */
  snapshot(): Promise<unknown>;
  cleanUp(): Promise<void>;
}

export interface SagaFacts {
  /** False for deletions, which no step can undo: a failed run must be repeatable instead. */
  readonly restores: boolean;
  /** After this step a failure is recovered by finishing instead of undoing. */
  readonly pointOfNoReturn?: string;
}

export interface SagaProof<P> {
  /** Added to the kind in the title. */
  readonly title?: string;
  readonly facts: SagaFacts;
  readonly make: () => Promise<SagaUnderTest<P>>;
}

/** The test file that proves a saga which the proofs do not fit. */
export interface ProvedElsewhere {
  readonly provedIn: string;
  readonly because: string;
}

type ParamsOf<K extends SagaKind> = ReturnType<typeof sagaTable>[K] extends Saga<infer P> ? P : never;

/** A row for every kind: a saga without proof is a type error. */
export type SagaProofs<K extends SagaKind = SagaKind> = {
  readonly [Each in K]: readonly SagaProof<ParamsOf<Each>>[] | ProvedElsewhere;
};

class Planned extends Error {}

/** The params that an older release stored for the same change, with DIR for the directory of the test. */
function olderParams(kind: SagaKind, title: string | undefined, now: unknown): unknown {
  const known = JSON.parse(readFileSync('test/fixtures/sagas/version-0.json', 'utf8')) as Record<string, unknown>;
  const found = known[[kind, title].join(' ').trim()];
  const [dir = 'DIR'] = /\/[^"]*?\/gtya-[a-z-]*saga-\w{6}/.exec(JSON.stringify(now)) ?? [];
  return JSON.parse(JSON.stringify(found).replaceAll('DIR', dir)) as unknown;
}

const context = (): SagaContext => ({ signal: new AbortController().signal, progress: () => {} });
const runner = <P>({ records, saga }: SagaUnderTest<P>): Sagas =>
  new Sagas({ records, clock: systemClock(), log: silentLog, table: { [saga.kind]: saga } });

/** Every proof of these kinds. */
export function proveSagas(proofs: Partial<SagaProofs>): void {
  for (const [kind, proof] of Object.entries(proofs) as [SagaKind, readonly SagaProof<never>[] | ProvedElsewhere][]) {
    if (!('provedIn' in proof)) for (const one of proof) proveSaga(kind, one);
  }
}

export function proveSaga<P>(kind: SagaKind, { title, facts, make }: SagaProof<P>): void {
  const withCase = async (work: (subject: SagaUnderTest<P>) => Promise<void>): Promise<void> => {
    const subject = await make();
    try {
      await work(subject);
    } finally {
      await subject.cleanUp();
    }
  };
  const expectUndone = async (subject: SagaUnderTest<P>, before: unknown, doneSteps: number): Promise<void> => {
    const { steps } = subject.saga;
    if (steps.slice(0, doneSteps).some((step) => step.name === facts.pointOfNoReturn)) {
      await runner(subject).recover();
      expect(await subject.snapshot()).toEqual(await expectedEnd());
      return;
    }
    if (facts.restores) {
      expect(await subject.snapshot()).toEqual(before);
      return;
    }
    expect(subject.records.sagas.size).toBe(0);
    await runner(subject).run(subject.saga, subject.params, context());
    expect(await subject.snapshot()).toEqual(await expectedEnd());
  };
  let stepCount: number | undefined;
  const countSteps = async (): Promise<number> => {
    if (stepCount === undefined) await withCase(async ({ saga: { steps } }) => void (stepCount = steps.length));
    return stepCount ?? 0;
  };
  let end: Promise<unknown> | undefined;
  const expectedEnd = (): Promise<unknown> => {
    end ??= (async () => {
      const subject = await make();
      try {
        await runner(subject).run(subject.saga, subject.params, context());
        return await subject.snapshot();
      } finally {
        await subject.cleanUp();
      }
    })();
    return end;
  };

  const failing = async (saga: (given: Saga<P>) => Saga<P>, doneSteps: number): Promise<void> =>
    withCase(async (subject) => {
      const before = await subject.snapshot();
      await expectFailure(subject, saga(subject.saga));
      await expectUndone(subject, before, doneSteps);
    });

  /** False: it has fewer writes. */
  const failsAtWrite = async (nth: number): Promise<boolean> => {
    let count = 0;
    await withCase(async (subject) => {
      const before = await subject.snapshot();
      const { records } = subject;
      const retry = records.retry.bind(records);
      records.retry = (build) => ((count += 1) === nth ? Promise.reject(new Planned()) : retry(build));
      const sagas = runner(subject);
      const failure = await sagas.run(subject.saga, subject.params, context()).catch((error: unknown) => error);
      await sagas.close();
      if (count < nth) return;
      expect(failure).toBeInstanceOf(Planned);
      await expectUndone(subject, before, subject.saga.steps.length);
    });
    return count >= nth;
  };

  describe(`the saga ${[kind, title].join(' ').trim()}`, () => {
    test('may have each of its steps run twice, and reads the parameters that this release and the one before store', () =>
      withCase(async (subject) => {
        stepCount ??= subject.saga.steps.length;
        const stored = JSON.parse(JSON.stringify(subject.params)) as unknown;
        const { version } = sagaParams[kind];
        expect(readSagaParams({ kind, version, params: stored })).toEqual({ kind, params: stored });
        expect(readSagaParams({ kind, params: olderParams(kind, title, stored) })).toEqual({ kind, params: stored });
        expect(await subject.snapshot()).not.toEqual(await expectedEnd());
        await runner(subject).run(withSteps(subject.saga, runsTwice), subject.params, context());
        expect(await subject.snapshot()).toEqual(await expectedEnd());
      }));

    test('unwinds cleanly when a step fails before its work, or the last record cannot be written', async () => {
      const steps = await countSteps();
      for (let index = 0; index < steps; index += 1)
        await failing(
          (saga) => withSteps(saga, (step, at) => (at === index ? failingStep(step, 'before') : step)),
          index,
        );
      await failing((saga) => ({ ...saga, commit: throwPlanned }), steps);
    });

    test('unwinds cleanly, also twice, when a step fails after its work', async () => {
      const steps = await countSteps();
      for (let index = 0; index < steps; index += 1)
        await failing(
          (saga) =>
            withSteps(saga, (step, at) => (at === index ? failingStep(undoesTwice(step), 'after') : undoesTwice(step))),
          index + 1,
        );
    });

    test('unwinds cleanly when any one write of records fails', async () => {
      // The first write stores the intent.
      for (let nth = 2; await failsAtWrite(nth); nth += 1);
    });

    test('is recovered after a crash at each point, as a release without versions left it', async () => {
      const steps = await countSteps();
      for (let done = 0; done <= steps; done += 1) {
        await withCase(async (subject) => {
          const before = await subject.snapshot();
          await crashAfter(subject, done, title);
          // Stored and read back, as a crash would have it.
          await runner(subject).recover();
          if (subject.saga.onRestart === 'finish') expect(await subject.snapshot()).toEqual(await expectedEnd());
          else expect(await subject.snapshot()).toEqual(before);
        });
      }
    });
  });
}

function throwPlanned(): never {
  throw new Planned();
}

function runsTwice<P>(step: SagaStep<P>): SagaStep<P> {
  return {
    ...step,
    execute: async (params, given) => {
      await step.execute(params, given);
      await step.execute(params, given);
    },
  };
}

function undoesTwice<P>(step: SagaStep<P>): SagaStep<P> {
  if (step.undo === undefined) return step;
  return {
    ...step,
    undo: async (params) => {
      await step.undo?.(params);
      await step.undo?.(params);
    },
  };
}

/** An undo that fails, too, is left to recovery. */
async function expectFailure<P>(subject: SagaUnderTest<P>, failing: Saga<P>): Promise<void> {
  const sagas = runner(subject);
  await expect(sagas.run(failing, subject.params, context())).rejects.toThrow(Planned);
  await sagas.close();
}

/** Stores the intent in the form of a release without versions. */
async function crashAfter<P>(
  { records, saga, params }: SagaUnderTest<P>,
  steps: number,
  title: string | undefined,
): Promise<void> {
  const stored = olderParams(saga.kind, title, params);
  await records.retry((changes) => {
    saga.begin(changes, params);
    changes.put('sagas', randomUUID(), { v: 1, kind: saga.kind, params: stored, startedAt: new Date(0).toISOString() });
  });
  for (const step of saga.steps.slice(0, steps)) await step.execute(params, context());
}

function withSteps<P>(saga: Saga<P>, change: (step: SagaStep<P>, index: number) => SagaStep<P>): Saga<P> {
  return { ...saga, steps: saga.steps.map(change) };
}

function failingStep<P>(step: SagaStep<P>, when: 'before' | 'after'): SagaStep<P> {
  return {
    ...step,
    execute: async (params, given) => {
      if (when === 'after') await step.execute(params, given);
      throw new Planned();
    },
  };
}

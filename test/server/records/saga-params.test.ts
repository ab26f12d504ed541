// The stored parameters of sagas: upgraded from older releases, and refused with a reason otherwise.
import { readFileSync } from 'node:fs';
import type { Static } from 'typebox';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type { sagaTable } from '../../../server/daemon/compose/saga-table.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { type Saga, Sagas } from '../../../server/operations/saga.ts';
import { Records } from '../../../server/records/records.ts';
import type { SagaKind } from '../../../server/records/saga-params.ts';
import { readSagaParams, sagaParams } from '../../../server/records/saga-params.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';

type ParamsOf<K extends SagaKind> = ReturnType<typeof sagaTable>[K] extends Saga<infer P> ? P : never;
type Stored<T> = { readonly [K in keyof T]: Stored<T[K]> };
/** Kinds whose schema the parameters of the saga do not fit. */
type Misfit = {
  [K in SagaKind]: ParamsOf<K> extends Stored<Static<(typeof sagaParams)[K]['schema']>> ? never : K;
}[SagaKind];

const kinds = Object.keys(sagaParams) as SagaKind[];
const older = JSON.parse(readFileSync('test/fixtures/sagas/version-0.json', 'utf8')) as Record<string, object>;
const olderOf = (kind: string): readonly object[] =>
  Object.entries(older).flatMap(([title, params]) => (title.split(' ')[0] === kind ? [params] : []));

describe('the parameters of a saga', () => {
  test('fit the schema of their kind, as the compiler sees it', () => {
    expectTypeOf<Misfit>().toBeNever();
  });

  test.each(kinds)('are read as a release without versions left them: %s', (kind) => {
    expect(olderOf(kind).length).toBeGreaterThan(0);
    for (const params of olderOf(kind)) expect(readSagaParams({ kind, params })).toEqual({ kind, params });
  });

  test.each(kinds)('are refused with the name of a member that is missing: %s', (kind) => {
    const [params = {}] = olderOf(kind);
    const [member = ''] = Object.keys(params).filter((key) => key !== 'state' && key !== 'copied');
    const { [member]: _gone, ...others } = params as Record<string, unknown>;
    expect(readSagaParams({ kind, version: 1, params: others })).toEqual({ problem: expect.stringContaining(member) });
  });

  test('are upgraded one version after the other', () => {
    const upgrades = {
      0: (params: unknown) => ({ ...(params as object), pool: 'p' }),
      1: (params: unknown) => ({ ...(params as object), name: 'b' }),
    };
    const formats = { ...sagaParams, 'container-delete': { ...sagaParams['container-delete'], version: 2, upgrades } };
    const read = (version: number | undefined, params: object) =>
      readSagaParams({ kind: 'container-delete', params, ...(version === undefined ? {} : { version }) }, formats);
    const newest = { kind: 'container-delete', params: { name: 'b', pool: 'p' } };
    expect(read(undefined, { name: 'a' })).toEqual(newest);
    expect(read(1, { name: 'a', pool: 'p' })).toEqual(newest);
    expect(read(2, { name: 'b', pool: 'p' })).toEqual(newest);
    expect(read(3, { name: 'b', pool: 'p' })).toEqual({ problem: expect.stringMatching(/version 3.* up to 2: start/) });
  });

  test.each([
    ['a kind', { kind: 'container-fly', params: {} }, /no change of the kind container-fly: start the release/],
    ['a version', { kind: 'pool-delete', version: 9, params: {} }, /version 9.*up to 1: start the release/],
    ['damaged parameters', { kind: 'pool-delete', version: 1, params: { name: 'p' } }, /document.*restore the store/],
  ])(
    'hold their records when this release cannot read them (%s), and a problem says what to do',
    async (_, intent, words) => {
      const records = await Records.open(openMemoryStore());
      const holds = [{ kind: 'pools' as const, name: 'p' }];
      await records.retry((changes) => changes.put('sagas', 'one', { v: 1, startedAt: '', holds, ...intent }));
      const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: {} });
      await sagas.recover();
      try {
        expect(sagas.problems).toEqual([expect.stringMatching(words)]);
        expect(sagas.isUndoing('pools', 'p')).toBe(true);
        expect(records.sagas.size).toBe(1);
      } finally {
        await sagas.close();
      }
    },
  );
});

// The saga that stops a container with its checkpoints kept: its steps twice, and after a daemon that died in the middle.
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpointWorld, container } from '../../support/sagas/checkpoint-proofs.ts';
import {
  storeCheckpointSaga,
  type StoreCheckpointParams,
} from '../../../server/services/containers/power/container-store-state.ts';
import type { SagaContext } from '../../../server/operations/saga.ts';

const signal = new AbortController().signal;

test('A container is stored once when each step of the saga runs twice', async () => {
  const outcome = async (times: number): Promise<unknown> => {
    const at = await checkpointWorld();
    try {
      const saga = storeCheckpointSaga(at);
      const steps = saga.steps.map((step) => ({
        ...step,
        execute: async (params: StoreCheckpointParams, context: SagaContext) => {
          for (let time = 0; time < times; time += 1) await step.execute(params, context);
        },
      }));
      await at.sagas.run({ ...saga, steps }, { name: 'c', pool: 'p', logFile: '/dev/null' });
      return await at.snapshot();
    } finally {
      await at.cleanUp();
    }
  };
  expect(await outcome(2)).toEqual(await outcome(1));
});

describe('After a daemon died while it stored checkpoints', () => {
  const params: StoreCheckpointParams = { name: 'c', pool: 'p', logFile: '/dev/null' };
  const begun = async (at: Awaited<ReturnType<typeof checkpointWorld>>): Promise<void> => {
    await at.records.commit((changes) =>
      changes.put('sagas', 'id', { v: 1, kind: 'container-store-state', params, startedAt: '' }),
    );
  };
  const resumed = async (work: (at: Awaited<ReturnType<typeof checkpointWorld>>) => Promise<void>) => {
    const at = await checkpointWorld();
    try {
      await begun(at);
      await work(at);
      await at.sagas.recover();
      const { stateful, config } = at.records.containers.get('c')?.document ?? container;
      const power = config['volatile.last_state.power'];
      const files = (await readdir(at.home)).toSorted();
      return { stateful, power, files, status: at.runtime.probe('c').status, sagas: at.records.sagas.size };
    } finally {
      await at.cleanUp();
    }
  };

  test('a container of which nothing was stored runs on, and nothing is left', async () => {
    const expected = { stateful: false, power: 'RUNNING', files: ['rootfs'], status: 'running', sagas: 0 };
    expect(await resumed(async () => {})).toEqual(expected);
    expect(
      await resumed(async ({ home }) => {
        await mkdir(join(home, 'state.part'));
        await writeFile(join(home, 'state.part/pages'), 'half');
      }),
    ).toEqual(expected);
  });

  test('the state of a container that the tool ended by itself is kept', async () => {
    const expected = { stateful: true, power: 'STOPPED', files: ['rootfs', 'state'], status: 'stopped', sagas: 0 };
    const store = async ({ home, runtime }: Awaited<ReturnType<typeof checkpointWorld>>): Promise<void> => {
      await mkdir(join(home, 'state.part'));
      await runtime.checkpoints?.checkpoint('c', { dir: join(home, 'state.part'), leave: 'stopped' }, signal);
    };
    expect(await resumed(store)).toEqual(expected);
    expect(
      await resumed(async (at) => {
        await store(at);
        await rename(join(at.home, 'state.part'), join(at.home, 'state'));
      }),
    ).toEqual(expected);
  });

  test('a container that ended with an incomplete state is stopped, and nothing is left', async () => {
    const found = await resumed(async ({ home, runtime }) => {
      await mkdir(join(home, 'state.part'));
      await writeFile(join(home, 'state.part/pages'), 'half');
      await runtime.stop('c', { force: true }, signal);
    });
    expect(found).toMatchObject({ stateful: false, files: ['rootfs'], status: 'stopped', sagas: 0 });
  });
});

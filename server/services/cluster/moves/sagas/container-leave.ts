// The source of a move between members: once the container is the other member's, what it has left here goes.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrue } from '../../../../api/text/value-checks.ts';
import type { Records } from '../../../../records/records.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { Saga, SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { dropSnapshots } from '../../../containers/shared/snapshot-records.ts';

export interface LeaveParams {
  readonly name: string;
  readonly uuid: string;
  readonly pool: string;
}

/** Sends it to the other member, and resolves once this one can see what came of it. Absent at recovery. */
export type SendAway = (params: LeaveParams, context: SagaContext) => Promise<void>;

/** Whether it has moved is decided by the record alone, which only the other member takes away. */
export function leaveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>,
  send: SendAway = () => Promise.reject(new Error('The move was interrupted')),
): Saga<LeaveParams> {
  const { records } = deps;
  const isHere = ({ name, uuid }: LeaveParams): boolean => records.containers.get(name)?.document.uuid === uuid;
  let isSent = false;
  return {
    kind: 'container-leave',
    onRestart: 'finish',
    begin(changes, { name }) {
      readyContainer(records, name);
      changes.require('containers', name);
    },
    steps: [
      {
        name: 'claim',
        execute: () => Promise.resolve(),
        // The other member compares the record: from now on it is too late for it.
        async undo(params) {
          await records.retry((changes) => {
            const document = records.containers.get(params.name)?.document;
            if (document?.uuid !== params.uuid)
              throw new Error(`The container ${plainName(params.name)} has moved to another member already`);
            changes.put('containers', params.name, document);
          });
        },
      },
      {
        name: 'move',
        async execute(params, context) {
          if (!isHere(params)) return;
          if (isSent) throw new Error(`The container ${plainName(params.name)} is here as before`);
          isSent = true;
          await send(params, context);
          if (isHere(params)) throw new Error(`The container ${plainName(params.name)} did not move`);
        },
      },
      { name: 'runtime', execute: ({ name }) => deps.runtime.forget(name) },
      {
        name: 'files',
        async execute({ name, uuid, pool }) {
          await rm(join(deps.logsDir, name), { recursive: true, force: true });
          if (!isInUse(records, { name, uuid, pool })) await deps.pools.deleteVolume(pool, { type: 'container', name });
        },
      },
      // Their files went with the volume.
      { name: 'snapshots', execute: ({ uuid }) => dropSnapshots(records, uuid) },
    ],
  };
}

/** The files are in a pool that all members share, and another member took the container over with them while this one was away. */
function isInUse({ pools, others }: Records, { name, uuid, pool }: LeaveParams): boolean {
  const isShared = isTrue(pools.get(pool)?.document.config['source.shared']);
  const found = others.get('containers', name)?.document;
  return isShared && found?.uuid === uuid && found.pool === pool;
}

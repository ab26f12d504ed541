// The source of a move between members: removes what is left here once the other member has the container.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrue } from '../../../../api/text/value-checks.ts';
import type { Records } from '../../../../records/records.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { Saga, SagaContext, Sagas } from '../../../../operations/saga.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { readyContainer } from '../../../shared/find-container.ts';
import { dropSnapshots } from '../../../containers/shared/snapshot-records.ts';

export interface LeaveParams {
  readonly name: string;
  readonly uuid: string;
  readonly pool: string;
}

type LeaveDeps = Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>;

/** Sends it to the other member, and resolves once this one can see the outcome. Absent at recovery. */
export type SendAway = (params: LeaveParams, context: SagaContext) => Promise<void>;

/** Throws if the container stays. What a failure or a crash leaves here of one that has moved is removed later. */
export async function leave(
  deps: LeaveDeps & { readonly sagas: Pick<Sagas, 'run'> },
  params: LeaveParams,
  send: SendAway,
): Promise<void> {
  await deps.sagas.run(leaveContainerSaga(deps, send), params).catch((error: unknown) => {
    if (deps.records.containers.get(params.name)?.document.uuid === params.uuid) throw error;
  });
}

/** Only the record decides whether it has moved, and only the other member removes the record. */
export function leaveContainerSaga(
  deps: LeaveDeps,
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
        // The other member compares the record: changing it makes that member too late.
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
        async execute({ name, pool }) {
          await rm(join(deps.logsDir, name), { recursive: true, force: true });
          if (!isInUse(records, name, pool)) await deps.pools.deleteVolume(pool, { type: 'container', name });
        },
      },
      // Their files were deleted with the volume.
      { name: 'snapshots', execute: ({ uuid }) => dropSnapshots(records, uuid) },
    ],
  };
}

/** The files are in a shared pool, where another member uses this place: for this container, or for one made since. */
function isInUse({ pools, others }: Records, name: string, pool: string): boolean {
  const isShared = isTrue(pools.get(pool)?.document.config['source.shared']);
  return isShared && others.get('containers', name)?.document.pool === pool;
}

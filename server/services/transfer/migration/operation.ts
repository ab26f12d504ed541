// The operation of a migration, on either side: it connects to the other one, and each side reports its early end to the other.
import type { Operation } from '../../../api/operation.ts';
import { ChannelSet } from '../../../operations/channels.ts';
import type { Operations } from '../../../operations/manager.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import { channelsOf, meet, type ConnectDeps, type Meeting } from './connect.ts';
import type { Peer } from './peer.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface MigrationRequest {
  readonly description: string;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** Default: the project of the first resource. */
  readonly project?: string;
  /** Undefined: the other side connects to this one. */
  readonly meeting: Meeting | undefined;
  readonly live?: boolean;
  readonly run: (peer: Peer, handle: OperationHandle, signal: AbortSignal) => Promise<void>;
}

export function startMigration(
  deps: ConnectDeps & { readonly operations: Operations },
  { description, resources, project, meeting, live, run }: MigrationRequest,
): Operation {
  const names = channelsOf(live);
  const channels = meeting === undefined ? new ChannelSet(names) : undefined;
  const waiting = (set: ChannelSet): Meeting => ({ how: 'wait', channels: set, names });
  return deps.operations.start({
    class: channels === undefined ? 'task' : 'websocket',
    description,
    resources,
    ...withoutUndefined({ project }),
    mayCancel: true,
    ...(channels === undefined ? {} : { channels, metadata: channels.secrets }),
    run: (handle, signal) =>
      meetAnd(deps, meeting ?? waiting(channels ?? new ChannelSet([])), signal, (peer) =>
        run(peer, handle, peer.signal),
      ),
  });
}

/** Runs the conversation. A local failure is sent to the other side; a failure of the other side is thrown. */
export async function meetAnd<T>(
  deps: ConnectDeps,
  meeting: Meeting,
  signal: AbortSignal,
  work: (peer: Peer) => Promise<T>,
): Promise<T> {
  const peer = await meet(deps, meeting, signal);
  try {
    const result = await work(peer);
    peer.close();
    return result;
  } catch (error) {
    await peer.fail(error);
    throw error;
  }
}

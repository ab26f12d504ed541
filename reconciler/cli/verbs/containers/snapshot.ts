// `gantry snapshot create|list|show|rename|restore|delete`: snapshots of containers, each named NAME/SNAPSHOT.
import type { Context, Output, Run, RunOf } from '../../session/context.ts';
import { applyExpiry, parseExpiry } from '../../../../server/api/container/snapshot-expiry.ts';
import type { Snapshot, SnapshotCreate } from '../../../../server/api/container/snapshot.ts';
import type { Client } from '../../../../server/client/client.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import { paintFor } from '../../output/paint.ts';
import { withClient } from '../../session/connect.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import type { snapshotCreate, snapshotRestore } from './snapshot-verbs.ts';
import { utcSecondOrNever } from '../../../core/text/times.ts';
import { renderTable } from '../../output/table.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import { refuseServerInName } from '../../flags/server-in-name.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface SnapshotAddress {
  readonly container: string;
  readonly snapshot: string;
}

export const createSnapshot: RunOf<typeof snapshotCreate> = async (context, [text = '']) => {
  const { options } = context;
  refuseServerInName(text);
  const { container, snapshot } = text.includes('/') ? parseSnapshot(text) : { container: text, snapshot: undefined };
  const body: SnapshotCreate = {
    ...withoutUndefined({ name: snapshot }),
    ...(options.stateful === true ? { stateful: true } : {}),
    ...withoutUndefined({ description: options.description }),
    ...(options.expires === undefined ? {} : { expires_at: parseMoment(options.expires, context.io.nowMs()) }),
  };
  await withClient(context, async (client) => {
    const path = pathOf(container);
    const reply = await client.operations
      .run(() => client.http.send({ method: 'POST', path, json: body }, context.stop), context.cancel)
      .catch(refuseMissing('container', container));
    const reported: unknown = reply.operation?.metadata?.['snapshot_name'];
    const name =
      snapshot ??
      (typeof reported === 'string' ? reported : (await readSnapshots(client, container, context.stop)).at(-1)?.name);
    say(context, { container, snapshot: name ?? '' });
  });
};

export const listSnapshots: Run<HostOptions> = async (context, [word = '']) => {
  const container = parseContainer(word, 'gantry snapshot list', 'gantry snapshot show');
  await withClient(context, async (client) => {
    const snapshots = await readSnapshots(client, container, context.stop);
    if (context.isJson) return context.jsonObjects(snapshots);
    const rows = snapshots.map((one) => [
      one.name,
      utcSecondOrNever(one.created_at),
      utcSecondOrNever(one.expires_at),
      one.stateful ? 'yes' : 'no',
      one.description ?? '',
    ]);
    context.out(renderTable(['NAME', 'TAKEN', 'EXPIRES', 'STATEFUL', 'DESCRIPTION'], rows, paintFor(context.color)));
  });
};

export const showSnapshots: Run<HostOptions> = async (context, texts) => {
  const addresses = texts.map(parseSnapshot);
  await withClient(context, async (client) => {
    for (const address of addresses) {
      const call = { method: 'GET', path: pathOfSnapshot(address) } as const;
      const { metadata } = await client.http.send<Snapshot>(call, context.stop).catch(missing(address));
      if (context.isJson) context.jsonObjects(metadata);
      else context.out(`---\n${yamlText(metadata).trimEnd()}`);
    }
  });
};

export const renameSnapshot: Run<HostOptions> = async (context, [text = '', given = '']) => {
  const address = parseSnapshot(text);
  const head = `${address.container}/`;
  const name = given.startsWith(head) ? given.slice(head.length) : given;
  if (name === '' || name.includes('/')) {
    throw usageError(`${JSON.stringify(given)} is not the name of a snapshot of ${address.container}`);
  }
  await change(context, address, 'POST', pathOfSnapshot(address), { name });
  say(context, { container: address.container, snapshot: name });
};

export const restoreSnapshot: RunOf<typeof snapshotRestore> = async (context, [text = '']) => {
  const { options } = context;
  const address = parseSnapshot(text);
  const { container, snapshot } = address;
  const body = { restore: snapshot, ...(options.stateful === true ? { stateful: true } : {}) };
  await change(context, address, 'PUT', `/1.0/containers/${encodeURIComponent(container)}`, body);
};

/** Looks up every snapshot before it deletes the first one. */
export const deleteSnapshots: Run<HostOptions> = async (context, texts) => {
  const addresses = texts.map(parseSnapshot);
  await withClient(context, async (client) => {
    for (const address of addresses)
      await client.http.send({ method: 'GET', path: pathOfSnapshot(address) }, context.stop).catch(missing(address));
  });
  for (const address of addresses) {
    await change(context, address, 'DELETE', pathOfSnapshot(address));
  }
};

function parseSnapshot(text: string): SnapshotAddress {
  refuseServerInName(text);
  const [container = '', snapshot = '', ...rest] = text.split('/');
  if (container === '' || snapshot === '' || rest.length > 0) {
    throw usageError(`${JSON.stringify(text)} is not NAME/SNAPSHOT: a container's name, a slash, a snapshot's name`);
  }
  return { container, snapshot };
}

/** Reads a time, or a duration from now written like snapshots.expiry. */
export function parseMoment(text: string, nowMs: number): string {
  const expiry = parseExpiry(text);
  const moment = expiry === undefined ? parseTime(text) : applyExpiry(expiry, new Date(nowMs));
  if (moment === undefined) {
    throw usageError(
      `--expires ${JSON.stringify(text)} is neither a time such as 2030-01-31T12:00:00Z nor numbers with ` +
        'the units M (minutes), H, d, w, m (months) or y, such as "1w 2d"',
    );
  }
  if (moment.getTime() <= nowMs) throw usageError(`--expires ${JSON.stringify(text)} is in the past`);
  return moment.toISOString();
}

function parseTime(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

async function change(
  context: Context<HostOptions>,
  address: SnapshotAddress,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  json?: object,
): Promise<void> {
  const call = { method, path, ...withoutUndefined({ json }) };
  await withClient(context, async (client) => {
    await client.operations.run(() => client.http.send(call, context.stop), context.cancel).catch(missing(address));
  });
}

/** The oldest first. */
export async function readSnapshots(
  client: Client,
  container: string,
  stop: AbortSignal,
): Promise<readonly Snapshot[]> {
  const call = { method: 'GET', path: pathOf(container), query: { recursion: '1' } } as const;
  const { metadata } = await client.http
    .send<readonly Snapshot[]>(call, stop)
    .catch(refuseMissing('container', container));
  return metadata.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
}

const missing =
  ({ container, snapshot }: SnapshotAddress) =>
  (error: unknown): never => {
    throw isNotFound(error) ? commandError(`Snapshot ${snapshot} of container ${container} not found`, error) : error;
  };

const pathOf = (container: string, ...rest: readonly string[]): string =>
  ['/1.0/containers', encodeURIComponent(container), 'snapshots', ...rest.map(encodeURIComponent)].join('/');

const pathOfSnapshot = ({ container, snapshot }: SnapshotAddress): string => pathOf(container, snapshot);

function say(context: Output, { container, snapshot }: SnapshotAddress): void {
  context.jsonObjects({ container, snapshot });
  context.out(`${container}/${snapshot}`);
}

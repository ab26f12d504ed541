// A member that waits for a majority at its start serves its sockets from its kept records: clients list, enter and stop its containers. It
// starts none, since another member may run them by now, and changes no record.
import { EventRelay } from '../../membership/event-relay.ts';
import { AppError } from '../../api/errors.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { composeServices } from '../compose/services.ts';
import type { DaemonOptions } from '../daemon-options.ts';
import { openFoundation } from '../foundation.ts';
import { openHostDrivers, type HostDrivers } from '../host-drivers.ts';
import { openListeners } from '../open-listeners.ts';
import { OpenParts } from '../open-parts.ts';
import { readRecordsFile, type RecordsFile } from './kept-records.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import { StoreError, type Store } from '../../store/store.ts';

/** How long operations may still run once the majority is back. */
const graceMs = 5_000;

/** Resolves with the function that ends it. Does nothing without records. Never throws: the wait continues without it. */
export async function serveWhileWaiting(options: DaemonOptions, number: number): Promise<() => Promise<void>> {
  const kept = await readRecordsFile(options.stateDir);
  if (kept?.number !== number) {
    options.log.warn(
      'This member kept no records, so it answers when most of the etcds with the records can be reached',
    );
    return () => Promise.resolve();
  }
  const open = new OpenParts();
  try {
    return await serve(options, kept, open);
  } catch (error) {
    await open.abandon();
    options.log.warn(`Answering from the records that this member kept failed: ${errorText(error)}`);
    return () => Promise.resolve();
  }
}

async function serve(options: DaemonOptions, kept: RecordsFile, open: OpenParts): Promise<() => Promise<void>> {
  const drivers = options.drivers ?? openHostDrivers;
  const quiet: DaemonOptions = {
    ...options,
    dryRun: await openSilentStore(kept),
    drivers: async (driverOptions) => withoutStarts(await drivers(driverOptions)),
  };
  const base = await openFoundation(quiet, open, { member: kept.number, at: kept.at });
  const services = composeServices(base, quiet);
  open.add(() => services.warningBook.close());
  open.add(() => services.sagas.close());
  await services.containerEnds.attach();
  open.add(() => services.running.close());
  open.add(() => services.containerEnds.detach());
  const { cluster, events, log } = base;
  const relay = new EventRelay({
    members: cluster.members,
    links: cluster.links,
    headers: () => ({}),
    relay: (event, text) => events.relay(event, text),
    log,
  });
  open.add(() => relay.close());
  const listeners = await openListeners(base, services, quiet, relay);
  log.warn(`Until then this member answers on its sockets as of ${kept.at.toISOString()}, and changes nothing`);
  return async () => {
    const closed = listeners.shut();
    await base.operations.close(graceMs);
    listeners.endWebsockets();
    await closed;
    await open.closeAll();
  };
}

/** The same host, except that no container starts. */
function withoutStarts(host: HostDrivers): HostDrivers {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new AppError(
        'unavailable',
        'No container starts here before most of the etcds with the records of the cluster can be reached: another member may run it by now',
      ),
    );
  const runtime = new Proxy(host.runtime, {
    get: (driver, property) => {
      if (property === 'start') return refuse;
      if (property === 'checkpoints') return undefined;
      const value = Reflect.get(driver, property, driver) as unknown;
      return typeof value === 'function' ? (value.bind(driver) as unknown) : value;
    },
  }) satisfies RuntimeDriver;
  return { ...host, runtime };
}

/** The store of a member that waits for a majority: its kept records can be read, writes are refused, watches deliver nothing. */
const silent = (): Promise<never> =>
  Promise.reject(new StoreError('Unavailable', 'most of the etcds with the records of the cluster cannot be reached'));

async function openSilentStore({ records }: RecordsFile): Promise<Store> {
  const memory = openMemoryStore({ maxRevisions: 1 });
  const ops = records.map(([put, document]) => ({ put, value: Buffer.from(document) }));
  for (let from = 0; from < ops.length; from += 1) await memory.txn([], ops.slice(from, from + 1));
  return {
    get: (key) => memory.get(key),
    range: (prefix, options) => memory.range(prefix, options),
    watch: (prefix, fromRev, signal) => memory.watch(prefix, fromRev, signal),
    status: () => memory.status(),
    snapshot: (sink) => memory.snapshot(sink),
    txn: silent,
    lease: silent,
    compact: silent,
    lastWrite: silent,
    close: () => memory.close(),
  };
}

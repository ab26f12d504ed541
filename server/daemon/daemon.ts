// A daemon from start to stop: opens its parts, recovers, serves, and closes in dependency order.
import { autostart } from '../services/containers/power/autostart.ts';
import { pause } from '../lib/shared/deadline.ts';
import { isEvacuated } from '../services/cluster/moves/own-member.ts';
import { Scheduler, systemMinutes, type MinuteTimer } from '../services/shared/scheduler.ts';
import { composeServices, type Services } from './compose/services.ts';
import type { Daemon, DaemonOptions } from './daemon-options.ts';
import { openFoundation, type Foundation } from './foundation.ts';
import type { Listeners } from './listeners.ts';
import { openListeners } from './open-listeners.ts';
import { OpenParts } from './open-parts.ts';
import { ClusterPart } from './cluster-part.ts';
import { serveWhileWaiting } from './cluster/serve-while-waiting.ts';
import { recover } from './recovery.ts';
import type { LifecycleMetadata } from '../api/event.ts';
import { settingOf, stopPatienceMs } from '../services/shared/settings.ts';
import type { TraceSettings } from '../traces/target.ts';

/** Resolves when requests are served. If it throws, everything opened is closed again. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const open = new OpenParts();
  try {
    const base = await openFoundation(options, open, undefined, serveWhileWaiting);
    open.add(await followTraces(base));
    const services = composeServices(base, options);
    open.add(() => services.warningBook.close());
    open.add(() => services.sagas.close());
    open.add(() => services.recordCopies.close());
    open.add(() => services.keyChange.close());
    // The others do not wait for a member without a lease: their keys may change during the rest of this start.
    if (base.cluster.isOn) services.keyChange.begin();
    await recover(base, services);
    open.add(() => services.guestSockets.closeAll());
    open.add(() => services.guests.detach());
    open.add(() => services.running.close());
    open.add(() => services.containerEnds.detach());
    const part = new ClusterPart(base, services);
    open.add(() => part.close());
    const listeners = await openListeners(base, services, options, part.relay);
    await part.begin(listeners);
    return runningDaemon(base, services, listeners, open, options.time?.minutes);
  } catch (error) {
    await open.abandon();
    throw error;
  }
}

const noMinutes: MinuteTimer = () => ({ stop() {} });

/** An orderly stop leaves no container marked as unsynced, unless the disk is very slow. */
async function lastSync({ unsyncedFiles }: Services, syncing: AbortController): Promise<void> {
  const ended = new AbortController();
  const longest = pause(lastSyncMs, ended.signal).catch(() => {});
  await Promise.race([unsyncedFiles.sync(syncing.signal), longest]);
  ended.abort();
  syncing.abort(new Error('the daemon is stopping'));
}

const lastSyncMs = 5_000;

/** The daemon starts its own work: scheduled tasks, autostart. */
function runningDaemon(
  base: Foundation,
  services: Services,
  listeners: Listeners,
  open: OpenParts,
  minutes = systemMinutes,
): Daemon {
  const { isDryRun, clock, log, operations, host } = base;
  const { containerDeps, containerEnds } = services;
  const scheduler = new Scheduler({ tasks: services.scheduled, clock, log, timer: isDryRun ? noMinutes : minutes });
  scheduler.start();
  const starting = new AbortController();
  const isQuiet = isDryRun || isEvacuated(base.records);
  const started = isQuiet ? Promise.resolve() : autostart(containerDeps, starting.signal);
  if (!isDryRun) services.recordCopies.begin();
  if (!isDryRun) void services.warningWatch.look();
  const syncing = new AbortController();
  if (!isDryRun) void services.unsyncedFiles.sync(syncing.signal);
  const end = async (beforeClosing?: () => Promise<void>): Promise<void> => {
    starting.abort();
    // Accepts no new connections; open ones end with their requests. Event clients get the last operations' results before they are
    // disconnected: a server with connections does not count as closed.
    const closed = listeners.shut();
    await Promise.all([operations.close(stopPatienceMs(base.records)), started, scheduler.stop()]);
    await beforeClosing?.();
    if (!isDryRun) await lastSync(services, syncing);
    listeners.endWebsockets();
    await closed;
    await open.closeAll();
  };
  return {
    socketPath: listeners.socketPath,
    httpsAddress: () => listeners.tls.svc.address,
    lxdHttpsAddress: () => listeners.tls.lxd.address,
    runtime: host.runtime.name,
    runtimeReason: host.reason,
    stop: () => end(),
    shutDown: () => end(() => containerEnds.shutDown()),
  };
}

/** Resolves when traces are sent. Returns the function that ends it. */
async function followTraces({ traces, records, events, isDryRun }: Foundation): Promise<() => void> {
  if (isDryRun) return () => {};
  const follow = (): Promise<void> => traces.follow(settingsOf(records));
  const unsubscribe = events.subscribe(new Set(['lifecycle']), ({ metadata }) => {
    if ((metadata as LifecycleMetadata).action === 'config-updated') void follow();
  });
  const unfollow = records.onShared((kind) => {
    if (kind === 'server') void follow();
  });
  await follow();
  return () => {
    unsubscribe();
    unfollow();
  };
}

function settingsOf(records: Foundation['records']): TraceSettings {
  const endpoint = settingOf(records, 'core.trace_endpoint');
  const ratio = settingOf(records, 'core.trace_sample_ratio');
  return { endpoint, ratio: ratio === '' ? undefined : Number(ratio) };
}

// The use cases of containers, and access into running containers.
import type { Foundation } from '../foundation.ts';
import type { Common } from './common.ts';
import type { ImageParts } from './images.ts';
import { SilentGuestSockets } from '../../guest/dry-run-sockets.ts';
import { GuestSocketServer } from '../../guest/guest-sockets.ts';
import { svcDialect } from '../../http/dialects/svc.ts';
import { RunningDevices } from '../../services/containers/devices/running-devices.ts';
import { containerSessions } from '../../services/containers/exec/sessions.ts';
import { ContainerFiles } from '../../services/containers/files/files.ts';
import { ContainersMetadata } from '../../services/containers/files/metadata.ts';
import { GuestAccess } from '../../services/containers/guest-access.ts';
import { GuestView } from '../../services/containers/guest-view.ts';
import { ContainerEnds } from '../../services/containers/power/ends.ts';
import { ContainerReader } from '../../services/containers/reader.ts';
import { snapshotAtStart } from '../../services/containers/snapshots/schedule.ts';
import { Shutdowns } from '../../services/containers/power/shutdowns.ts';
import { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import type { ImageStore } from '../../services/images/image-store.ts';

export type ContainerParts = ReturnType<typeof composeContainers>;

export function composeContainers(base: Foundation, common: Common, { images, pulls }: ImageParts) {
  const { records, host } = base;
  const running = new RunningDevices({ ...common, proxies: host.proxies });
  const guestSockets = openGuestSockets(base, common, images);
  const guests = new GuestAccess({ ...common, sockets: guestSockets });
  const snapshots = new Snapshots(common);
  const containerDeps = {
    ...common,
    images,
    pulls,
    running,
    guests,
    shutdowns: new Shutdowns(),
    snapshotAtStart: (name: string, signal: AbortSignal) => snapshotAtStart({ ...common, snapshots }, name, signal),
  };
  return {
    containers: new ContainerReader({ records, view: common.view }),
    containerDeps,
    containerEnds: new ContainerEnds(containerDeps),
    containerFiles: new ContainerFiles(common),
    containerMetadata: new ContainersMetadata(common),
    guestSockets,
    guests,
    running,
    sessions: containerSessions(common),
    snapshots,
  };
}

function openGuestSockets(
  { isDryRun, dirs, events, clock, log, loop }: Foundation,
  common: Common,
  images: ImageStore,
) {
  const { records, view, runtime } = common;
  return new (isDryRun ? SilentGuestSockets : GuestSocketServer)({
    dir: dirs.guests,
    view: new GuestView({ records, view, images }),
    hub: events,
    clock,
    log,
    dialect: svcDialect,
    ownFileSystems: runtime.name === 'lxc',
    loop,
    ...(runtime.peer === undefined ? {} : { peerOf: (name, socketFd) => runtime.peer?.(name, socketFd) ?? 'stranger' }),
  });
}

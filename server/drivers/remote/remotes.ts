// Fetches images from other servers: picks the protocol, and deletes the files of a failed fetch.
import { rm } from 'node:fs/promises';
import { assertNever } from '../../lib/shared/assert-never.ts';
import { checkReach, type Reach } from '../../lib/reach.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { addressRule } from './address.ts';
import { certificateRule } from './certificate.ts';
import type { ConnectionOptions } from './connection.ts';
import type { ProxySettings } from '../../lib/shared/net/proxy-for.ts';
import type { ImageRequest, RemoteImage, RemoteLimits, RemoteServer, Remotes } from './driver.ts';
import { defaultLimits } from './driver.ts';
import type { Streams } from './streams-protocol.ts';

export interface RemotesDeps {
  /** Called each time: the server's settings may change. */
  readonly proxies: () => ProxySettings;
  readonly nowMs: () => number;
  /** The version that this daemon sends to others. */
  readonly version: string;
  readonly limits?: Partial<RemoteLimits>;
}

export function openRemotes(deps: RemotesDeps): Remotes {
  let streams: Streams | undefined;
  const limits: RemoteLimits = { ...defaultLimits, ...deps.limits };

  // Loaded on use: most daemons never contact another server.
  async function findBy(remote: RemoteServer, wanted: ImageRequest, signal: AbortSignal): Promise<RemoteImage> {
    const options: ConnectionOptions & { readonly version: string } = {
      certificate: remote.certificate,
      proxies: deps.proxies(),
      limits,
      userAgent: `gantry/${deps.version}`,
      version: deps.version,
      reach: wanted.reach,
    };
    switch (remote.protocol) {
      case 'svc':
        return (await import('./server-protocol.ts')).findOnServer(options, remote, wanted, signal);
      case 'simplestreams':
        streams ??= new (await import('./streams-protocol.ts')).Streams(deps.nowMs);
        return streams.find(options, remote, wanted, signal);
      case 'direct':
        return (await import('./direct-protocol.ts')).findDirect(options, remote, wanted, signal);
      default:
        return assertNever(remote.protocol);
    }
  }

  return {
    async find(remote, wanted, signal) {
      const rule = addressRule(remote.server, remote.protocol) ?? pemRule(remote.certificate);
      if (rule !== undefined) throw driverErrors.invalid(`cannot fetch images from ${remote.server}: it ${rule}`);
      // The index cache is shared: a caller who may not reach the server gets nothing from it either.
      if (wanted.reach !== undefined) await needReach(remote.server, wanted.reach);
      const image = await findBy(remote, wanted, signal);
      return { ...image, fetch: (...all) => cleanly(remote.server, image, ...all) };
    },
  };
}

async function needReach(server: string, reach: Reach): Promise<void> {
  try {
    await checkReach(new URL(server).hostname, reach);
  } catch (error) {
    throw driverErrors.invalid(`cannot fetch images from ${server}`, error);
  }
}

/** For a daemon without remotes. */
export const noRemotes: Remotes = {
  find: ({ server }) =>
    Promise.reject(
      driverErrors.notSupported(`cannot fetch images from ${server}: this daemon contacts no other server`),
    ),
};

const pemRule = (certificate: string): string | undefined =>
  certificate === '' ? undefined : certificateRule(certificate);

async function cleanly(
  server: string,
  image: RemoteImage,
  ...[target, report, signal]: Parameters<RemoteImage['fetch']>
): ReturnType<RemoteImage['fetch']> {
  try {
    signal.throwIfAborted();
    return await image.fetch(target, report, signal);
  } catch (error) {
    await rm(target.metadataPath, { force: true });
    await rm(target.rootfsPath, { force: true });
    signal.throwIfAborted();
    if (error instanceof DriverError) throw error;
    throw driverErrors.failed(`fetching the image ${image.fingerprint} from ${server} broke off`, error);
  }
}

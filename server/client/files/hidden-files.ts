// Files below the disk devices of a stopped container. Only a start mounts these, so until then the files API reaches the directory of the
// root file system that the mount hides: what is read there is wrong, and what is written there never appears.
import type { Container } from '../../api/container/container.ts';
import { mountOf, type Mount } from '../../api/devices/index.ts';
import type { Client } from '../client.ts';
import { ClientError } from '../client-error.ts';
import { isUp } from '../facts/containers.ts';
import type { Files } from './container-files.ts';

type Facts = Pick<Container, 'status'> & { readonly expanded_devices?: Container['expanded_devices'] | null };

/** The mount that is missing now and hides `path` later. Pure. */
export const hidingMount = (path: string, { status, expanded_devices: devices }: Facts): Mount | undefined =>
  isUp(status) ? undefined : mountOf(path, devices ?? {});

const hiddenCode = 'hiddenFile';

export const isHiddenFile = (error: unknown): boolean => error instanceof ClientError && error.code === hiddenCode;

export const hiddenFile = (container: string, path: string, { device, path: mount }: Mount): ClientError =>
  new ClientError(
    hiddenCode,
    `${path} of container ${container} is on its disk device ${device}, which is mounted at ${mount} only while the container runs, and it is stopped: start the container first, or write the file to the source of the device`,
  );

/** Files whose changes fail with a hiddenFile where a mount hides them. Reads the container once, before the first change. */
export function withoutHidden(
  files: Files,
  client: Pick<Client, 'get'>,
  container: string,
  readSignal: AbortSignal,
): Files {
  let facts: Promise<Facts> | undefined;
  const check = async (path: string): Promise<void> => {
    facts ??= client.get('container', container, readSignal).then(({ metadata }) => metadata);
    const mount = hidingMount(path, await facts);
    if (mount !== undefined) throw hiddenFile(container, path, mount);
  };
  return {
    read: (path, signal) => files.read(path, signal),
    write: async (path, ...more) => (await check(path), files.write(path, ...more)),
    makeDirectory: async (path, ...more) => (await check(path), files.makeDirectory(path, ...more)),
    makeSymlink: async (path, ...more) => (await check(path), files.makeSymlink(path, ...more)),
    delete: async (path, ...more) => (await check(path), files.delete(path, ...more)),
  };
}

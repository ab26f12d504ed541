// Disks: the root disk (made by storage; only its throughput is set here) and volumes and host paths shown inside the container.
import { stat } from 'node:fs/promises';
import { fileSystemOptions, flagsOf, isRequired } from '../../api/devices/index.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { driverErrors } from '../driver-error.ts';
import type { DiskRate, MountRun } from '../device-parts.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler, type HostVolume } from './device.ts';
import { blockContent, unmountable } from './block-file-system.ts';
import { diskRates } from './disk-rates.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export const diskDevice: DeviceHandler = {
  change(before, after) {
    // A disk that was omitted at the start, and whose source exists now.
    if (after.mounts.length > before.mounts.length) return 'replug';
    return after.mounts.length < before.mounts.length ? { ...after, mounts: before.mounts } : after;
  },
  async start(context: DeviceContext): Promise<DeviceRun> {
    const { path = '', source = '', pool } = context.properties;
    if (path === '/') return { ...nothing, ...(await ratesOf(context, context.rootfs)) };
    const optional = !isRequired(context.properties);
    const isVolume = pool !== undefined && pool !== '';
    const volume: HostVolume | undefined = isVolume
      ? context.volumeOf(pool, source)
      : { path: source, idmapped: false };
    const found = volume === undefined ? undefined : await stat(volume.path).catch(() => undefined);
    if (volume === undefined || found === undefined) {
      const what = isVolume
        ? `there is no volume ${source} in pool ${pool}`
        : `the source ${source} does not exist on the host`;
      if (optional) return { ...nothing, warnings: [`disk ${context.device} is left out: ${what}`] };
      throw driverErrors.notFound(`disk ${context.device}: ${what}`);
    }
    const flags = flagsOf(context.properties['raw.mount.options']);
    const block = await blockOf(context, volume.path);
    const recursive = isTrue(context.properties['recursive']) && found.isDirectory();
    return {
      ...nothing,
      ...(await ratesOf(context, volume.path)),
      mounts: [
        {
          device: context.device,
          source: volume.path,
          ...(volume.idmapped || isTrue(context.properties['shift']) ? { idmapped: true } : {}),
          ...(isVolume ? {} : { hostPath: true }),
          ...(isVolume || context.shownPaths === undefined ? {} : { within: context.shownPaths }),
          ...withoutUndefined({ fileMaps: volume.fileMaps }),
          target: path.startsWith('/') ? path : `/${path}`,
          kind: found.isDirectory() || block !== undefined ? 'dir' : 'file',
          ...withoutUndefined({ block }),
          readonly: isTrue(context.properties['readonly']),
          optional,
          recursive,
          ...(flags.length === 0 ? {} : { flags }),
          propagation: context.properties['propagation'] || (recursive ? 'rprivate' : 'private'),
        },
      ],
    };
  },
};

/** The file system on the source, if that is a block device. Throws DriverError Invalid. */
async function blockOf({ device, properties }: DeviceContext, source: string): Promise<MountRun['block']> {
  const found = await blockContent(source);
  const options = fileSystemOptions(properties['raw.mount.options']);
  const refuse = (why: string): never => {
    throw driverErrors.invalid(`disk ${device}: ${why}`);
  };
  if (found === undefined)
    return options.length === 0
      ? undefined
      : refuse(`raw.mount.options has ${options.join(',')}, which is for block devices, and ${source} is none`);
  const { content } = found;
  if (content === undefined || !('fileSystem' in content)) return refuse(unmountable(source, content));
  return { fileSystem: content.fileSystem, options };
}

type Rates = Pick<DeviceRun, 'warnings'> & { readonly diskRates: readonly DiskRate[] };

async function ratesOf(context: DeviceContext, path: string): Promise<Rates> {
  const found = await diskRates(context.device, context.properties, path, context.host);
  return 'warning' in found ? { diskRates: [], warnings: [found.warning] } : { diskRates: found.rates, warnings: [] };
}

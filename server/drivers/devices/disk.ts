// Disks: the root disk (made by storage, nothing to do here) and host paths shown inside the container.
import { stat } from 'node:fs/promises';
import { DriverError } from '../driver-error.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceType } from './device.ts';

const isTrue = (value: string | undefined): boolean => /^(true|1|yes|on)$/i.test(value ?? '');

export const diskDevice: DeviceType = {
  async start(context: DeviceContext): Promise<DeviceRun> {
    const { path = '', source = '', pool } = context.properties;
    if (path === '/') return nothing;
    if (pool !== undefined) {
      throw new DriverError(
        'NotSupported',
        `disk ${context.device}: custom volumes (pool ${pool}) cannot be attached in this release`,
      );
    }
    const found = await stat(source).catch(() => undefined);
    const optional = isTrue(context.properties['optional']);
    if (found === undefined && !optional) {
      throw new DriverError('NotFound', `disk ${context.device}: the source ${source} does not exist on the host`);
    }
    if (found === undefined) return nothing;
    const { propagation } = context.properties;
    return {
      nics: [],
      volatile: {},
      mounts: [
        {
          device: context.device,
          source,
          target: path.startsWith('/') ? path : `/${path}`,
          kind: found.isDirectory() ? 'dir' : 'file',
          readonly: isTrue(context.properties['readonly']),
          optional,
          recursive: isTrue(context.properties['recursive']),
          ...(propagation === undefined ? {} : { propagation }),
        },
      ],
    };
  },
};

// Device nodes of the host in containers: unix-char and unix-block.
import { dirname } from 'node:path';
import { unixPaths } from '../../api/devices/index.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { driverErrors } from '../driver-error.ts';
import { nothing, type DeviceContext, type DeviceRun, type DeviceHandler } from './device.ts';
import type { NodeNumbers } from './host-paths.ts';
import { nodeRun, set } from './nodes.ts';

export const unixDevice = (kind: NodeNumbers['kind']): DeviceHandler => ({
  followsHardware: (properties) => !isRequired(properties),
  start: async (context: DeviceContext): Promise<DeviceRun> => {
    const { device, properties } = context;
    const { source, path } = unixPaths(properties);
    const required = isRequired(properties);
    const numbers = numbersOf(context, kind, source, required);
    return {
      ...nothing,
      nodes: numbers === undefined ? [] : [nodeRun(device, properties, path, numbers)],
      watch: required || given(context) !== undefined ? [] : [dirname(source)],
    };
  },
});

const isRequired = (properties: ConfigMap): boolean => isTrue(set(properties['required']) ?? 'true');

/** The node need not exist on the host if both numbers are set. */
function given({ properties }: DeviceContext): { readonly major: number; readonly minor: number } | undefined {
  const [major, minor] = [set(properties['major']), set(properties['minor'])];
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

function numbersOf(
  context: DeviceContext,
  kind: NodeNumbers['kind'],
  source: string,
  required: boolean,
): NodeNumbers | undefined {
  const { device, properties, host } = context;
  const numbers = given(context);
  if (numbers !== undefined) return { kind, ...numbers };
  const found = host.node(source);
  const word = kind === 'char' ? 'character' : 'block';
  if (found?.kind === kind) {
    return {
      kind,
      major: Number(set(properties['major']) ?? found.major),
      minor: Number(set(properties['minor']) ?? found.minor),
    };
  }
  if (!required) return undefined;
  const why = found === undefined ? 'does not exist on the host as a device' : `is no ${word} device`;
  throw driverErrors.notFound(
    `unix-${kind} ${device}: ${source} ${why}; with required: "false" it is plugged in once it appears`,
  );
}

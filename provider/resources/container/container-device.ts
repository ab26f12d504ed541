// gantry_container_device: one device of a container that is managed elsewhere.
import type { Container } from '../../../server/api/container/container.ts';
import { effectOfDeviceChange, validateDevices } from '../../../server/api/devices/index.ts';
import { withoutDevicesOfLxd } from '../../../server/api/server/lxd-keys.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Link } from '../../connection/link.ts';
import { flag, text, textMap, type StateOf, type TextMap } from '../../framework/attribute.ts';
import { DiagnosticError, failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { isMap, isWhollyKnown, type Value, type ValueMap } from '../../framework/value.ts';
import { isUp } from '../../../server/client/facts/containers.ts';
import { importByParts } from '../shared/import-ids.ts';
import { readMap, sameMap, writtenMap } from '../shared/config-maps.ts';
import { otherOwner } from '../shared/rename.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { strayAddresses, type PlannedNics } from '../shared/static-addresses.ts';
import { conflicting, edit, editOf, keepEtag, performFirst } from '../shared/write.ts';
import { separateDeviceNames, withNamesApart } from '../shared/separate-devices.ts';
import { inTurn } from './container-queue.ts';
import { planHolder, readHolder } from './holder.ts';
import { unchangedBody } from './container-state.ts';

const attributes = {
  container: text({ doc: 'Name of the container. A renamed container keeps the device.', required: true }),
  name: text({ doc: 'Name of the device. Another name replaces the device.', required: true, replace: true }),
  type: text({
    doc: 'Type of the device, such as `disk`, `nic` or `proxy`. Another type replaces the device.',
    required: true,
    replace: true,
  }),
  properties: textMap({
    doc: 'The properties of that type, as in `devices` of gantry_container.',
    default: {},
    same: (before: TextMap, after: TextMap) => sameMap(before, after),
  }),
  noted: flag({
    doc: 'Whether `user.gantry.terraform.devices` of the container lists the device, so that gantry_container leaves it alone. After an import the next apply adds it.',
    computed: true,
    keep: true,
  }),
};
type State = StateOf<typeof attributes>;
type Device = Readonly<Record<string, string>>;

export const containerDevice = gantryResource({
  typeName: 'gantry_container_device',
  doc: 'A device of a container that is managed elsewhere. Changes apply to the running container where possible, otherwise at its next start, with a warning: this resource never restarts a container. gantry_container neither shows nor removes the device, and must not declare one of the same name. After a replacement of the container the next apply adds the device again; with `replace_triggered_by = [gantry_container.web.created_at]` in its `lifecycle` the same apply does.',
  attributes,
  identity: ['container', 'name'],
  importing: importByParts(['container', 'name'], 'web/data'),
  validate: ({ name, type, properties }) => deviceProblems(name as Value, type as Value, properties as Value),

  async plan(draft) {
    const { prior, planned, client, add } = draft;
    planned.noted = true;
    for (const found of await strayAddresses(client, nicOf(planned as ValueMap, prior))) add(found);
    await planHolder(draft);
  },

  async read(state, context) {
    const seen = await readHolder(context, state.container);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    const found = readDevice(seen.object, state);
    return found === null ? null : { ...found, container: seen.object.name };
  },

  async create({ planned }, context) {
    const { name, type, properties } = planned;
    const device = (live: Container): Device => {
      if (live.devices?.[name] !== undefined) throw taken(live, name);
      return { type, ...writtenMap({}, properties, null) };
    };
    await performFirst(context, () => change(context, planned, null, device));
  },

  update: ({ planned }, prior, context) =>
    change(context, planned, prior, (live) => {
      const { container, name, type } = planned;
      if (container !== prior.container && !separateDeviceNames(live.config).includes(name))
        throw otherOwner(`device ${name}`, 'container', container);
      const { type: _type, ...before } = live.devices?.[name] ?? {};
      return { type, ...writtenMap(before, planned.properties, prior.properties) };
    }),

  async delete(prior, context) {
    try {
      const { metadata: live } = await context.client.client.get('container', prior.container, context.signal);
      const isThere = live.devices?.[prior.name] !== undefined || separateDeviceNames(live.config).includes(prior.name);
      if (isThere) await change(context, prior, null, () => undefined);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  },
});

const nicOf = ({ name, type, properties }: ValueMap, prior: State | null): PlannedNics => ({
  devices: typeof name === 'string' && isMap(properties) ? { [name]: { ...properties, type: type ?? null } } : {},
  prior: prior === null ? null : { [prior.name]: prior.properties ?? {} },
  pathOf: (_device, key) => at('properties', { key }),
});

/** Null when the container has no such device. */
function readDevice(
  { config, devices }: Container,
  { name, properties }: State,
): Pick<State, 'type' | 'properties' | 'noted'> | null {
  const { type = '', ...found } = devices?.[name] ?? {};
  if (type === '') return null;
  return { type, properties: readMap(found, properties), noted: separateDeviceNames(config).includes(name) };
}

/** Updates the container: replaces or removes the device of this name, and updates the list of separate devices. */
async function change(
  context: Context<Link>,
  planned: State,
  prior: State | null,
  wanted: (live: Container) => Device | undefined,
): Promise<void> {
  const { container, name } = planned;
  const body = (live: Container) => {
    const device = wanted(live);
    const { [name]: _before, ...others } = live.devices ?? {};
    const names = separateDeviceNames(live.config).filter((each) => each !== name);
    return {
      ...unchangedBody(live),
      config: withNamesApart(live.config, device === undefined ? names : [...names, name]),
      devices: device === undefined ? others : { ...others, [name]: device },
    };
  };
  const changedSince = (live: Container): readonly string[] => {
    // A device that was removed since the plan is added again, as planned.
    if (prior === null || live.devices?.[name] === undefined) return [];
    return conflicting({ prior, planned }, (state) => readDevice(live, state) ?? {}, ['properties']);
  };
  const before = await inTurn(context.client, container, () =>
    edit(context, editOf(context, 'container', container, { changedSince, body })),
  );
  const after = wanted(before);
  if (!isUp(before.status) || effectOfDeviceChange(before.devices?.[name], after) !== 'restart') return;
  const detail = `The container ${container} runs, and this ${planned.type} device cannot be changed in a running container. Restart the container when convenient.`;
  context.warn(warning(`The device ${name} changes at the next start of its container`, detail));
}

function taken({ name: container, config }: Container, name: string): DiagnosticError {
  const has = separateDeviceNames(config).includes(name)
    ? `Another gantry_container_device manages it, or managed it before. Import it (terraform import <address> ${container}/${name}), or choose another name.`
    : `Declare it in one place: remove it from devices of the gantry_container ${container}, or choose another name. To manage a device that nothing declares, run terraform import <address> ${container}/${name}.`;
  return new DiagnosticError([failure(`The container ${container} already has a device ${name}`, has, at('name'))]);
}

/** The problems that `devices` of a container would report for this device. */
function deviceProblems(name: Value, type: Value, properties: Value): readonly Diagnostic[] {
  if (isMap(properties) && Object.hasOwn(properties, 'type')) {
    return [
      failure('type is not a property here', 'Set the attribute type instead.', at('properties', { key: 'type' })),
    ];
  }
  const written = properties ?? {};
  if (typeof name !== 'string' || typeof type !== 'string' || !isMap(written) || !isWhollyKnown(written)) return [];
  const texts = Object.entries(written).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const devices = { [name]: { type, ...Object.fromEntries(texts) } };
  return withoutDevicesOfLxd(devices, validateDevices(devices)).map(({ path, message }) => {
    const property = path.slice(`devices.${name}.`.length);
    const where = property === '' ? at('name') : property === 'type' ? at('type') : at('properties', { key: property });
    return failure(`Invalid device ${name}`, `${property === '' ? '' : `${property} `}${message}.`, where);
  });
}

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
import { timeoutsAttribute } from '../../framework/timeouts.ts';
import { isMap, isWhollyKnown, type Value } from '../../framework/value.ts';
import { isUp } from './container-state.ts';
import { importByParts } from '../shared/import-ids.ts';
import { readMap, sameMap, writtenMap } from '../shared/config-maps.ts';
import { isOtherOwner, otherOwner } from '../shared/rename.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { containerPath } from './snapshot.ts';
import { conflicting, edit, editOf, hasUnknownOutcome, keepEtag } from '../shared/write.ts';
import { namesApart, withNamesApart } from '../shared/separate-devices.ts';
import { inTurn } from './container-queue.ts';

const attributes = {
  container: text({ doc: 'Name of the container. A renamed container keeps the device.', required: true }),
  name: text({ doc: 'Name of the device. Another one makes another device.', required: true, replace: true }),
  type: text({
    doc: 'Type of the device, such as `disk`, `nic` or `proxy`. Another one makes another device.',
    required: true,
    replace: true,
  }),
  properties: textMap({
    doc: 'The properties of that type, as in `devices` of gantry_container.',
    default: {},
    same: (before: TextMap, after: TextMap) => sameMap(before, after),
  }),
  noted: flag({
    doc: 'Whether the container notes (in `user.gantry.terraform.devices`) that the device has a resource of its own, so that gantry_container leaves it alone. After an import it does so from the next apply on.',
    computed: true,
    keep: true,
  }),
  timeouts: timeoutsAttribute,
};
type State = StateOf<typeof attributes>;
type Device = Readonly<Record<string, string>>;

export const containerDevice = gantryResource({
  typeName: 'gantry_container_device',
  doc: 'A device of a container that is managed elsewhere. It is plugged in, changed and unplugged while the container runs where that is possible; else it takes effect at the next start, with a warning: this resource restarts nothing. gantry_container shows and removes no such device, and may not declare one of the same name. When its container is replaced it is plugged in by the next apply; with `replace_triggered_by = [gantry_container.web.created_at]` in its `lifecycle` by the same one.',
  example: `resource "gantry_container_device" "data" {
  container  = "web"
  name       = "data"
  type       = "disk"
  properties = { pool = "default", source = "data", path = "/srv/data" }
}
`,
  attributes,
  identity: ['container', 'name'],
  importing: importByParts(['container', 'name'], 'web/data'),
  validate: ({ name, type, properties }) => deviceProblems(name as Value, type as Value, properties as Value),

  async plan({ prior, planned, client, replace }) {
    planned.noted = true;
    if (prior === null) return;
    const owner = { attribute: 'container', before: prior.container, after: planned.container, path: containerPath };
    if (await isOtherOwner(client, owner)) replace(at('container'));
  },

  async read(state, context) {
    const seen = await context.client.reader.read('container', state.container, context.signal);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    return readDevice(seen.object, state);
  },

  async create({ planned }, context) {
    const { name, type, properties } = planned;
    try {
      await change(context, planned, null, (live) => {
        if (live.devices?.[name] !== undefined) throw taken(live, name);
        return { type, ...writtenMap({}, properties, null) };
      });
    } catch (error) {
      if (!(error instanceof DiagnosticError) && hasUnknownOutcome(error)) context.mayExist();
      throw error;
    }
    context.mayExist();
  },

  update: ({ planned }, prior, context) =>
    change(context, planned, prior, (live) => {
      const { container, name, type } = planned;
      if (container !== prior.container && !namesApart(live.config).includes(name))
        throw otherOwner(`device ${name}`, 'container', container);
      const { type: _type, ...before } = live.devices?.[name] ?? {};
      return { type, ...writtenMap(before, planned.properties, prior.properties) };
    }),

  async delete(prior, context) {
    try {
      const { metadata: live } = await context.client.client.get('container', prior.container, context.signal);
      const isThere = live.devices?.[prior.name] !== undefined || namesApart(live.config).includes(prior.name);
      if (isThere) await change(context, prior, null, () => undefined);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  },
});

/** Null: there is none. */
function readDevice(
  { config, devices }: Container,
  { name, properties }: State,
): Pick<State, 'type' | 'properties' | 'noted'> | null {
  const { type = '', ...found } = devices?.[name] ?? {};
  if (type === '') return null;
  return { type, properties: readMap(found, properties), noted: namesApart(config).includes(name) };
}

/** Updates the container with another device of this name, or with none, and with the list of separate devices. */
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
    const names = namesApart(live.config).filter((each) => each !== name);
    return {
      architecture: live.architecture,
      config: withNamesApart(live.config, device === undefined ? names : [...names, name]),
      devices: device === undefined ? others : { ...others, [name]: device },
      ephemeral: live.ephemeral,
      profiles: [...live.profiles],
      description: live.description,
    };
  };
  const changedSince = (live: Container): readonly string[] => {
    // One that was taken away meanwhile is put where the plan has it.
    if (prior === null || live.devices?.[name] === undefined) return [];
    return conflicting({ prior, planned }, (state) => readDevice(live, state) ?? {}, ['properties']);
  };
  const before = await inTurn(context.client, container, () =>
    edit(context, editOf(context, 'container', container, { changedSince, body })),
  );
  const after = wanted(before);
  if (!isUp(before.status) || effectOfDeviceChange(before.devices?.[name], after) !== 'restart') return;
  const detail = `The container ${container} runs, and a ${planned.type} device like this cannot be changed while it does. Restart it when that suits.`;
  context.warn(warning(`The device ${name} changes at the next start of its container`, detail));
}

function taken({ name: container, config }: Container, name: string): DiagnosticError {
  const has = namesApart(config).includes(name)
    ? `Another gantry_container_device manages it, or did. Import it (terraform import <address> ${container}/${name}), or choose another name.`
    : `Declare it in one place: take it out of devices of the gantry_container ${container}, or choose another name. One that nothing declares is taken over with terraform import <address> ${container}/${name}.`;
  return new DiagnosticError([failure(`The container ${container} has a device ${name} already`, has, at('name'))]);
}

/** The problems that `devices` of a container would report for it. */
function deviceProblems(name: Value, type: Value, properties: Value): readonly Diagnostic[] {
  if (isMap(properties) && Object.hasOwn(properties, 'type')) {
    return [
      failure('The type is not a property here', 'Set the attribute type instead.', at('properties', { key: 'type' })),
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

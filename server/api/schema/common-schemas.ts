// Schema pieces that several objects share.
import { Type } from 'typebox';
import { facts } from './field.ts';

/** Config maps hold strings only, on every object (spec 2.5). */
export const ConfigMap = Type.Record(Type.String(), Type.String());
export type ConfigMap = Readonly<Record<string, string>>;

/** Device name -> properties; every device has `type`. */
export const DeviceMap = Type.Record(
  Type.String({ minLength: 1, maxLength: 64 }),
  Type.Record(Type.String(), Type.String()),
);
export type DeviceMap = Readonly<Record<string, ConfigMap>>;

export const Description = Type.String(
  facts({ doc: 'Free text for people.', effect: 'live', since: 'entity_description' }),
);
export const Timestamp = Type.String({ format: 'date-time' });
export const UrlList = Type.Array(Type.String());
export const UsedBy = Type.Array(
  Type.String(),
  facts({ doc: 'URLs of the objects that use this one.', computed: true }),
);

/** "Never" in a required timestamp: never started (spec 2.5) and never expires. */
export const never = { started: '1970-01-01T00:00:00Z', expires: '0001-01-01T00:00:00Z' } as const;

/** What clients write of most objects. */
export const describedBody = {
  description: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([ConfigMap, Type.Null()])),
};

/** Config of single members of a cluster, by name. */
export const MemberOverrides = Type.Optional(Type.Record(Type.String(), ConfigMap));

const counters = {
  bytes_received: Type.Integer(),
  bytes_sent: Type.Integer(),
  packets_received: Type.Integer(),
  packets_sent: Type.Integer(),
};

/** The counters of a container's interface, as LXD has them; those of networks lack errors and drops there. */
export const containerCounters = Type.Object({
  ...counters,
  errors_received: Type.Integer(),
  errors_sent: Type.Integer(),
  packets_dropped_inbound: Type.Integer(),
  packets_dropped_outbound: Type.Integer(),
});

/** The state of an interface (spec 2.6). */
export const interfaceState = {
  addresses: Type.Array(
    Type.Object({ family: Type.String(), address: Type.String(), netmask: Type.String(), scope: Type.String() }),
  ),
  counters: Type.Object(counters),
  hwaddr: Type.String(),
  mtu: Type.Integer(),
  state: Type.String(),
  type: Type.String(),
};

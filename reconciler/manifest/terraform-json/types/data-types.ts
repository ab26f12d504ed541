// The data sources of the gantry provider: their arguments and their attributes. A test compares them with the provider's schema;
// live-data.ts reads them.
import type { ReferableType } from '../evaluation/instance.ts';
import { unknown, type Value } from '../expression/values.ts';
import type { Members } from '../evaluation/argument-shapes.ts';

const later = (): Value => unknown;

interface DataType {
  readonly shapes: Members;
  readonly attributes: readonly string[];
}

const dataType = (shapes: Members, ...attributes: readonly string[]): DataType => ({ shapes, attributes });

const typeOf = (shapes: Members, attributes: readonly string[]): ReferableType => ({
  arguments: new Set(Object.keys(shapes)),
  shapes,
  computed: Object.fromEntries(attributes.map((name) => [name, later] as const)),
});

const facts = [
  'description',
  'status',
  'running',
  'architecture',
  'ephemeral',
  'profiles',
  'location',
  'created_at',
  'ipv4_address',
  'ipv6_address',
  'mac_address',
];

const types: Readonly<Record<string, DataType>> = {
  gantry_container: dataType(
    { name: 'text' },
    ...facts,
    'config',
    'devices',
    'expanded_config',
    'expanded_devices',
    'interfaces',
  ),
  gantry_containers: dataType({ name_prefix: 'text', status: 'text', profile: 'text', config: 'map' }, 'containers'),
  gantry_image: dataType(
    { alias: 'text', fingerprint: 'text' },
    'aliases',
    'architecture',
    'public',
    'properties',
    'size_bytes',
    'created_at',
    'uploaded_at',
  ),
  gantry_profile: dataType({ name: 'text' }, 'description', 'config', 'devices', 'used_by'),
  gantry_network: dataType(
    { name: 'text' },
    'description',
    'type',
    'managed',
    'config',
    'ipv4_address',
    'ipv6_address',
    'used_by',
    'locations',
  ),
  gantry_network_leases: dataType({ network: 'text' }, 'leases'),
  gantry_storage_pool: dataType(
    { name: 'text' },
    'description',
    'driver',
    'config',
    'status',
    'used_by',
    'space_used_bytes',
    'space_total_bytes',
  ),
  gantry_storage_volume: dataType({ pool: 'text', name: 'text' }, 'description', 'config', 'location', 'used_by'),
  gantry_project: dataType({ name: 'text' }, 'description', 'config', 'used_by'),
  gantry_server: dataType(
    {},
    'name',
    'version',
    'api_version',
    'api_extensions',
    'clustered',
    'addresses',
    'architectures',
    'certificate_fingerprint',
    'kernel',
    'kernel_version',
    'driver',
    'storage',
    'config',
  ),
  gantry_resources: dataType({}, 'cpu_total', 'memory_total_bytes', 'memory_used_bytes', 'cpu_names'),
  gantry_cluster: dataType({}, 'enabled', 'server_name', 'members'),
  gantry_certificate: dataType({ fingerprint: 'text' }, 'name', 'certificate', 'restricted', 'projects'),
};

/** Data sources that describe the server as a whole. */
const inNoProject: ReadonlySet<string> = new Set([
  'gantry_storage_pool',
  'gantry_project',
  'gantry_server',
  'gantry_resources',
  'gantry_cluster',
  'gantry_certificate',
]);

/** Arguments of every data source. */
export const dataTypes: Readonly<Record<string, ReferableType>> = Object.fromEntries(
  Object.entries(types).map(([name, { shapes, attributes }]) => {
    const scope: Members = { remote: 'text', ...(inNoProject.has(name) ? {} : { project: 'text' }) };
    return [name, typeOf({ ...shapes, ...scope }, attributes)] as const;
  }),
);

export const dataTypeOf = (name: string): ReferableType | undefined =>
  Object.hasOwn(dataTypes, name) ? dataTypes[name] : undefined;
export const dataTypeNames: readonly string[] = Object.keys(dataTypes);

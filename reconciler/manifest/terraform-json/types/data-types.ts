// The data sources of the gantry provider: their arguments and their attributes. A test compares them with the provider's schema;
// live-data.ts reads them.
import type { ReferableType } from '../evaluation/instance.ts';
import { unknown, type Value } from '../expression/values.ts';
import type { Members } from './argument-shapes.ts';

const later = (): Value => unknown;

interface Taking {
  readonly shapes: Members;
  readonly told: readonly string[];
}

const taking = (shapes: Members, ...told: readonly string[]): Taking => ({ shapes, told });

const typeOf = (shapes: Members, told: readonly string[]): ReferableType => ({
  arguments: new Set(Object.keys(shapes)),
  shapes,
  computed: Object.fromEntries(told.map((name) => [name, later] as const)),
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

const types: Readonly<Record<string, Taking>> = {
  gantry_container: taking(
    { name: 'text' },
    ...facts,
    'config',
    'devices',
    'expanded_config',
    'expanded_devices',
    'interfaces',
  ),
  gantry_containers: taking({ name_prefix: 'text', status: 'text', profile: 'text', config: 'map' }, 'containers'),
  gantry_image: taking(
    { alias: 'text', fingerprint: 'text' },
    'aliases',
    'architecture',
    'public',
    'properties',
    'size_bytes',
    'created_at',
    'uploaded_at',
  ),
  gantry_profile: taking({ name: 'text' }, 'description', 'config', 'devices', 'used_by'),
  gantry_network: taking(
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
  gantry_network_leases: taking({ network: 'text' }, 'leases'),
  gantry_storage_pool: taking(
    { name: 'text' },
    'description',
    'driver',
    'config',
    'status',
    'used_by',
    'space_used_bytes',
    'space_total_bytes',
  ),
  gantry_project: taking({ name: 'text' }, 'description', 'config', 'used_by'),
  gantry_server: taking(
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
  gantry_resources: taking({}, 'cpu_total', 'memory_total_bytes', 'memory_used_bytes', 'cpu_names'),
  gantry_cluster: taking({}, 'enabled', 'server_name', 'members'),
};

/** Of the server as a whole. */
const inNoProject: ReadonlySet<string> = new Set([
  'gantry_storage_pool',
  'gantry_project',
  'gantry_server',
  'gantry_resources',
  'gantry_cluster',
]);

/** Arguments of every data source. */
export const dataTypes: Readonly<Record<string, ReferableType>> = Object.fromEntries(
  Object.entries(types).map(([name, { shapes, told }]) => {
    const scope: Members = { remote: 'text', ...(inNoProject.has(name) ? {} : { project: 'text' }) };
    return [name, typeOf({ ...shapes, ...scope }, told)] as const;
  }),
);

export const dataTypeOf = (name: string): ReferableType | undefined =>
  Object.hasOwn(dataTypes, name) ? dataTypes[name] : undefined;
export const dataTypeNames: readonly string[] = Object.keys(dataTypes);
